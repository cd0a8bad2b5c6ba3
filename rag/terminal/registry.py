"""What became of a bundle in MLflow's model registry."""

from rich.markup import escape

from rag.registry.register import CHALLENGER, Registered
from rag.terminal.output import out


def registered(found: Registered) -> None:
    """The version, and what comes next."""
    name = f"[bold]{escape(found.model)}[/bold] version {found.version}"
    out.print(f"{name} is {'' if found.new else 'still '}bundle {found.digest[:12]}.", soft_wrap=True)
    if found.aliases:
        out.print(f"It is the {escape(' and '.join(found.aliases))}.", soft_wrap=True)
    out.print(f"[dim]mlflow models serve -m {escape(found.uri)} --env-manager local[/dim]", soft_wrap=True)
    if CHALLENGER in found.aliases:
        out.print(f"[dim]rag promote {escape(found.model)} makes it the champion, if the gate lets it.[/dim]", soft_wrap=True)
