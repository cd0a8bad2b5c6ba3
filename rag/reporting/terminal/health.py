"""Questions of a golden set that need a review, and the loss of approximate search."""

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from rich.padding import Padding

from rag.analysis.ann_audit import AT, Audit, Loss
from rag.analysis.dataset_health import Finding, Health
from rag.core.figures import amount, figure, interval
from rag.reporting.terminal.output import dimmed, escape, out, table

SHOWN = 8
"""Questions of a list that a terminal shows; all of them are in the JSON."""


def health(found: Health) -> None:
    """Print every list with its length and first questions, the loss of approximate indexes, and what was not checked."""
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


def audits(found: Sequence[Audit], names: Sequence[str] = ()) -> None:
    """Print a few rows per vector index: gold and neighbours of exact and of approximate search.

    `names` are the trials of the audits, shown below the names of the indexes.
    """
    shown = table("index", "measure", "exact", "found", "lost to index", "to embedder", words=2)
    for place, audit in enumerate(found):
        titles = [escape(audit.index), f"[dim]{escape(names[place])}[/dim]" if names else ""]
        for title, cells in zip_longest(titles, _audit_rows(audit), fillvalue=""):
            shown.add_row(title, *cells)
    out.print(shown)
    out.print("[dim]Lost to the index: exact search minus this one; brackets: joint 95 % intervals.[/dim]")
    out.print("[dim]Lost to the embedder: gold that exact search does not find among the candidates either.[/dim]")


def _audit_rows(audit: Audit) -> Iterator[tuple[str, ...]]:
    recall = f"gold in {audit.depth}"
    yield recall, figure(audit.recall.exact), figure(audit.recall.approximate), _lost(audit.recall), figure(audit.embedder_lost)
    if audit.column:
        yield escape(audit.column), figure(audit.metric.exact), figure(audit.metric.approximate), _lost(audit.metric), ""
    for cut, share in {audit.k: audit.overlap_at_k, AT: audit.overlap_at_10}.items():
        yield f"nearest {cut}", figure(1.0), figure(share), figure(1 - share) if share < 1 else "none", ""


def _lost(loss: Loss) -> str:
    return "none" if loss.lost == loss.low == loss.high == 0 else dimmed(interval(loss.lost, loss.low, loss.high))
