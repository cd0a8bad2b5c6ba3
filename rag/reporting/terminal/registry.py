"""What became of a bundle in MLflow's model registry."""

from rag.reporting.terminal.gate import COLOURS, judged
from rag.reporting.terminal.output import escape, out
from rag.tracking.registry.promote import Promotion
from rag.tracking.registry.register import CHALLENGER, CHAMPION, Registered


def registered(found: Registered) -> None:
    """The version, and what comes next."""
    name = f"[bold]{escape(found.model)}[/bold] version {found.version}"
    out.print(f"{name} is {'' if found.new else 'still '}bundle {found.digest[:12]}.", soft_wrap=True)
    if found.aliases:
        out.print(f"It is the {escape(' and '.join(found.aliases))}.", soft_wrap=True)
    serve = f"MLFLOW_TRACKING_URI={found.tracking} mlflow models serve -m {found.uri} --env-manager local"
    out.print(f"[dim]{escape(serve)}[/dim]", soft_wrap=True)
    if CHALLENGER in found.aliases:
        out.print(f"[dim]rag promote {escape(found.model)} makes it the champion, if the gate lets it.[/dim]", soft_wrap=True)


def promoted(found: Promotion) -> None:
    """The verdict first, then what it was read from, then who is the champion now."""
    out.print(f"[bold {COLOURS[found.verdict]}]{found.verdict}[/]  {escape(found.sentence)}", soft_wrap=True)
    judged(found.rows, found.bounds)
    now = found.challenger if found.promoted else found.champion
    named = f"{escape(found.challenger.model)}@{CHAMPION}"
    if now is None:
        out.print(f"\n{named} points at nothing.")
        return
    stays = "is" if found.promoted else "stays"
    told = f"{escape(now.scores.result.name)}, bundle {now.digest[:12]}"
    out.print(f"\n[bold]{named}[/bold] {stays} version {now.number} ({told}).", soft_wrap=True)
