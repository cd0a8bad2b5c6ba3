"""The first lines of a server."""

from collections.abc import Iterable

from rag.reporting.terminal.output import escape, out


def serving(address: str, models: Iterable[tuple[str, str]]) -> None:
    """Print the address and the names and hashes of the bundles, the default first."""
    for number, (name, digest) in enumerate(models):
        out.print(f"{escape(name)}  [dim]{digest}{'' if number else '  default'}[/dim]", soft_wrap=True)
    out.print(f"[bold]{escape(address)}[/bold]  [dim]the page; {escape(address)}/v1 for OpenAI's clients[/dim]", soft_wrap=True)
