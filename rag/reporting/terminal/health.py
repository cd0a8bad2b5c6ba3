"""Questions that deserve a look."""

from collections.abc import Sequence

from rich.padding import Padding

from rag.analysis.dataset_health import Finding, Health
from rag.analysis.dataset_health.findings import counted
from rag.reporting.terminal.ann_audits import audits
from rag.reporting.terminal.output import escape, out

SHOWN = 8
"""Questions of a list that a terminal shows; all of them are in the JSON."""


def health(found: Health) -> None:
    """Every list with its length and first questions, what approximate indexes lose, and what could not be looked at."""
    trials = f"{found.finished} of {counted(found.trials, 'trial')} finished"
    out.print(f"[bold]{escape(found.dataset)}[/bold]: {counted(found.questions, 'question')}, {trials}", soft_wrap=True)
    for said in found.told:
        out.print(f"[yellow]{escape(said)}[/yellow]")
    _listed("Worded nearly alike in two splits", found.near_duplicates)
    _listed("Gives itself away by its words", found.give_aways)
    if found.finished:
        _listed("Gold may be wrong or incomplete", found.suspects)
        _listed("Solved by no trial", found.unsolved)
        _listed("Solved by every trial", found.always_solved, shown=0)
    if found.audits:
        out.print("\n[bold]Lost to approximate search[/bold]")
        audits([audit for _, audit in found.audits], [name for name, _ in found.audits])


def _listed(title: str, findings: Sequence[Finding], shown: int = SHOWN) -> None:
    out.print(f"\n[bold]{title}[/bold]: {len(findings) or 'none'}")
    for finding in findings[:shown]:
        out.print(Padding(f"[cyan]{escape(finding.query_id)}[/cyan] {escape(finding.text)}", (0, 2), expand=False))
        out.print(Padding(f"[dim]{escape(finding.why)}[/dim]", (0, 6), expand=False))
    if not shown and findings:
        out.print(Padding(escape(", ".join(finding.query_id for finding in findings)), (0, 2), expand=False))
    elif len(findings) > shown:
        out.print(Padding(f"… and {len(findings) - shown} more: --json has all", (0, 2), expand=False))
