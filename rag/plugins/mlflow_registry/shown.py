"""Versions of registered models, for the terminal."""

from rag.plugins.mlflow_registry.promote import Promotion
from rag.plugins.mlflow_registry.register import CHALLENGER, CHAMPION, Registered
from rag.reporting.terminal.gate import COLOURS, judged
from rag.reporting.terminal.output import escape, out


def registered(found: Registered) -> None:
    """Print the version of a registered bundle, and the commands that serve and promote it."""
    name = f"[bold]{escape(found.model)}[/bold] version {found.version}"
    out.print(f"{name} is {'' if found.new else 'still '}bundle {found.digest[:12]}.", soft_wrap=True)
    if found.aliases:
        out.print(f"It is the {escape(' and '.join(found.aliases))}.", soft_wrap=True)
    if found.prompt:
        out.print(f"Its prompt is {escape(found.prompt)}.", soft_wrap=True)
    serve = f"MLFLOW_TRACKING_URI={found.tracking} mlflow models serve -m {found.uri} --env-manager local"
    out.print(f"[dim]{escape(serve)}[/dim]", soft_wrap=True)
    if CHALLENGER in found.aliases:
        out.print(
            f"[dim]rag bundle promote {escape(found.model)} makes it the champion, if the gate lets it.[/dim]", soft_wrap=True
        )


def promoted(found: Promotion) -> None:
    """Print the verdict, the rows it was read from, and the champion."""
    out.print(f"[bold {COLOURS[found.verdict]}]{found.verdict}[/]  {escape(found.sentence)}", soft_wrap=True)
    judged(found.rows, found.bounds)
    champion = found.challenger if found.promoted else found.champion
    alias = f"{escape(found.challenger.model)}@{CHAMPION}"
    if champion is None:
        out.print(f"\n{alias} points at nothing.")
        return
    stays = "is" if found.promoted else "stays"
    bundle = f"{escape(champion.scores.result.name)}, bundle {champion.digest[:12]}"
    out.print(f"\n[bold]{alias}[/bold] {stays} version {champion.number} ({bundle}).", soft_wrap=True)
