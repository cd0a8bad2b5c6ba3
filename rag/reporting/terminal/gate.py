"""The verdict of a gate, and a new baseline."""

from collections.abc import Sequence
from pathlib import Path

from rag.analysis.baseline import Baseline
from rag.analysis.gate.decide import Row
from rag.analysis.gate.finding import INSIDE, PASS
from rag.analysis.gate.limits import BoundResult
from rag.analysis.gate.verdict import GateReport
from rag.analysis.gate.verdict_files import reason, value_of
from rag.core.figures import amount, figure
from rag.reporting.terminal.output import Table, dimmed, escape, out, print_line, shortened, stream, table

EXCERPT = 100
ROOMY = 100
"""Width of a terminal, in characters, from which on means are shown too."""
COLOURS = {"PASS": "green", "FAIL": "red", "INCONCLUSIVE": "yellow", "WARN": "yellow"}


def gate(report: GateReport, written: Sequence[Path]) -> None:
    """Print the verdict, the rows and bounds it was read from, and the questions that lost most."""
    out.print(f"[bold {COLOURS[report.verdict]}]{report.verdict}[/]  {escape(report.sentence)}", soft_wrap=True)
    if report.replaced:
        out.print(f"[yellow]{escape(report.replaced)}[/yellow]", soft_wrap=True)
    for key, old, new in report.changed:
        out.print(f"  {escape(key)}: {escape(str(old))} → {escape(str(new))}", soft_wrap=True)
    judged(report.rows, report.bounds)
    if report.lost:
        losses = escape("; ".join(f"{name}: {n}" for name, n in report.losses))
        out.print(f"\nQuestions that lost most ({losses})", soft_wrap=True)
        out.print(_lost(report))
    out.print(f"\n[dim]{escape(report.counted)} of {escape(report.split)}.", end=" ", soft_wrap=True)
    out.print("[dim]Brackets: 95 % intervals that hold for all rows together.[/dim]", soft_wrap=True)
    for said in filter(None, (report.power, *report.notes)):
        print_line(said)
    for path in written[-1:]:
        print_line(str(path))


def judged(rows: Sequence[Row], bounds: Sequence[BoundResult]) -> None:
    """Print the rows and bounds of a verdict, and the reason for each that did not simply pass."""
    if rows:
        out.print()
        out.print(_rows(rows))
    for kept in bounds:
        out.print(f"{_verdict(kept)}  {escape(kept.text)}: {dimmed(value_of(kept))}", soft_wrap=True)
    everything: list[Row | BoundResult] = [*rows, *bounds]
    for each in everything:
        if each.label != PASS or each.why == INSIDE:
            out.print(f"[{COLOURS[each.label]}]{escape(each.name)}[/]: {escape(reason(each))}.", soft_wrap=True)


def _rows(rows: Sequence[Row]) -> Table:
    """The rows of a gate; the means are columns too if the terminal is wide."""
    roomy = out.width >= ROOMY
    shown = table("", "metric", *(("was", "is") if roomy else ()), "difference", "may lose", "n", words=2)
    for row in rows:
        means = (figure(row.base), figure(row.candidate)) if roomy else ()
        shown.add_row(_verdict(row), escape(row.name), *means, dimmed(value_of(row)), figure(row.margin), str(row.n))
    return shown


def _verdict(each: Row | BoundResult) -> str:
    return f"[{COLOURS[each.label]}]{each.label}[/]"


def _lost(report: GateReport) -> Table:
    shown = table("", "", words=2, show_header=False)
    for lost in report.lost:
        column, (was, now) = next(iter(lost.scores.items()))
        change = f"{escape(lost.stage)}, {escape(column)} {figure(was)} → {figure(now)}"
        text = escape(shortened(" ".join(lost.text.split()), EXCERPT))
        shown.add_row(escape(lost.query_id), f"{change}\n[dim]{text}[/dim]")
    return shown


def baseline(kept: Baseline, path: Path, whole: bool, command: str) -> None:
    """Print which trial became the baseline, and its path.

    `whole` says that it holds all questions, since the golden set has no holdout; `command` is the gate that reads it.
    """
    result = kept.result
    failed = int(result.scores.failed.sum())
    asked = amount(len(result.questions), "question")
    out.print(f"[bold]{escape(result.name)}[/bold] ({result.trial_id}), {asked} of {escape(kept.split)}.")
    if failed:
        out.print(f"[yellow]{failed} of them failed.[/yellow] They count as 0.")
    if whole:
        out.print("The golden set has no holdout: the gate asks all questions, including those that chose the trial.")
    stream(f"{path}\n")
    out.print(f"[dim]Commit it: `{escape(command)}` compares with it.[/dim]", soft_wrap=True)
