"""The address of a server, and a new API key."""

from collections.abc import Iterable

from rag.reporting.terminal.output import err, escape, out, print_line


def serving(address: str, models: Iterable[tuple[str, str, Iterable[str]]]) -> None:
    """Print the address of a server and its models: names, hashes and what stands in for missing parts, the default first."""
    for number, (name, digest, stand_ins) in enumerate(models):
        out.print(f"{escape(name)}  [dim]{digest}{'' if number else '  default'}[/dim]", soft_wrap=True)
        for sentence in stand_ins:
            print_line(f"  {sentence}.")
    out.print(f"[bold]{escape(address)}[/bold]  [dim]the page; {escape(address)}/v1 for OpenAI's clients[/dim]", soft_wrap=True)


def print_key(key: str, entry: str) -> None:
    """Print a new API key and its entry on standard output, a line each; what they are for on standard error."""
    err.print("the key, shown only once; clients send it as `Authorization: Bearer …`:", style="dim")
    print_line(key)
    err.print("its entry for RAG_API_KEYS, after a comma if there are other entries:", style="dim")
    print_line(entry)
