"""Questions of a golden set that need a review."""

from collections.abc import Sequence

from rich.padding import Padding

from rag.analysis.dataset_health import Finding, Health
from rag.core.figures import amount
from rag.reporting.terminal.output import escape, out

SHOWN = 8
"""Questions of a list that a terminal shows; all of them are in the JSON."""


def health(found: Health) -> None:
    """Print every list with its length and first questions, and what was not checked."""
    trials = f"{found.finished} of {amount(found.trials, 'trial')} finished"
    out.print(f"[bold]{escape(found.dataset)}[/bold]: {amount(found.questions, 'question')}, {trials}", soft_wrap=True)
    for remark in found.told:
        out.print(f"[yellow]{escape(remark)}[/yellow]")
    _listed("Worded nearly alike in two splits", found.near_duplicates)
    _listed("Gives itself away by its words", found.give_aways)
    if found.finished:
        _listed("Gold may be wrong or incomplete", found.suspects)
        _listed("Solved by no trial", found.unsolved)
        _listed("Solved by every trial", found.always_solved, shown=0)


def _listed(title: str, findings: Sequence[Finding], shown: int = SHOWN) -> None:
    out.print(f"\n[bold]{title}[/bold]: {len(findings) or 'none'}")
    for finding in findings[:shown]:
        out.print(Padding(f"[cyan]{escape(finding.query_id)}[/cyan] {escape(finding.text)}", (0, 2), expand=False))
        out.print(Padding(f"[dim]{escape(finding.why)}[/dim]", (0, 6), expand=False))
    if not shown and findings:
        out.print(Padding(escape(", ".join(finding.query_id for finding in findings)), (0, 2), expand=False))
    elif len(findings) > shown:
        out.print(Padding(f"… and {len(findings) - shown} more: --json has all", (0, 2), expand=False))
