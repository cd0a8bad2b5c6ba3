"""What a gate says."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rag.analysis.baseline import Baseline
from rag.analysis.gate.decide import INSIDE, PASS, Row
from rag.analysis.gate.limits import Kept
from rag.analysis.gate.verdict import GateReport
from rag.reporting.terminal.output import Table, escape, number, out, stream

EXCERPT = 100
ROOMY = 100
"""Columns of a terminal from which on means are shown too."""
COLOURS = {"PASS": "green", "FAIL": "red", "INCONCLUSIVE": "yellow", "WARN": "yellow"}


def gate(told: GateReport, written: Sequence[Path]) -> None:
    """The verdict first, then what it was read from, then the questions that lost most."""
    out.print(f"[bold {COLOURS[told.verdict]}]{told.verdict}[/]  {escape(told.sentence)}", soft_wrap=True)
    if told.replaced:
        out.print(f"[yellow]{escape(told.replaced)}[/yellow]", soft_wrap=True)
    for key, old, new in told.changed:
        out.print(f"  {escape(key)}: {escape(str(old))} → {escape(str(new))}", soft_wrap=True)
    judged(told.rows, told.bounds)
    if told.lost:
        out.print(
            f"\nQuestions that lost most ({escape('; '.join(f'{name}: {n}' for name, n in told.losses))})", soft_wrap=True
        )
        out.print(_lost(told))
    out.print(f"\n[dim]{escape(told.counted)} of {escape(told.gated.gate.split)}.", end=" ", soft_wrap=True)
    out.print("[dim]Brackets: 95 % intervals that hold for all rows together.[/dim]", soft_wrap=True)
    for path in written[-1:]:
        out.print(str(path), markup=False, soft_wrap=True)


def judged(rows: Sequence[Row], bounds: Sequence[Kept]) -> None:
    """What a verdict was read from, and why of everything that did not simply pass."""
    if rows:
        out.print()
        out.print(_rows(rows))
    for kept in bounds:
        out.print(_bound(kept), soft_wrap=True)
    everything: list[Row | Kept] = [*rows, *bounds]
    for each in everything:
        if each.shown != PASS or each.why == INSIDE:
            settle = f"; {each.needed:,} questions would settle it" if each.needed else ""
            out.print(f"[{COLOURS[each.shown]}]{escape(each.name)}[/]: {escape(each.why)}{settle}.", soft_wrap=True)


def _rows(rows: Sequence[Row]) -> Table:
    """The rows of a gate; means stand beside their difference where there is room."""
    roomy = out.width >= ROOMY
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1))
    for title in ("", "metric", *(("was", "is") if roomy else ()), "difference", "may lose", "n"):
        table.add_column(title, justify="left" if title in ("", "metric") else "right", no_wrap=title != "metric")
    for row in rows:
        ends = "" if row.low is None else f" [dim]\\[{number(row.low)}, {number(row.high)}][/dim]"
        means = (number(row.base), number(row.candidate)) if roomy else ()
        table.add_row(_verdict(row), escape(row.name), *means, number(row.difference) + ends, number(row.margin), str(row.n))
    return table


def _verdict(each: Row | Kept) -> str:
    return f"[{COLOURS[each.shown]}]{each.shown}[/]"


def _bound(kept: Kept) -> str:
    value = str(int(kept.value)) if kept.value is not None and kept.value.is_integer() else number(kept.value)
    ends = "" if kept.low is None else f" [dim]\\[{number(kept.low)}, {number(kept.high)}][/dim]"
    return f"{_verdict(kept)}  {escape(kept.text)}: {value}{ends}"


def _lost(told: GateReport) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 1))
    for lost in told.lost:
        column, (was, now) = next(iter(lost.scores.items()))
        told_of = f"{escape(lost.stage)}, {escape(column)} {number(was)} → {number(now)}"
        table.add_row(escape(lost.query_id), f"{told_of}\n[dim]{escape(_cut(lost.text))}[/dim]")
    return table


def _cut(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= EXCERPT else f"{flat[:EXCERPT]} …"


def baseline(kept: Baseline, path: Path, whole: bool, command: str) -> None:
    """What became the baseline, and where it lies; `whole`: of all questions, because none were kept back.

    `command` asks a gate the same questions.
    """
    found = kept.result
    failed, asked = int(found.scores.failed.sum()), len(found.questions)
    questions = "1 question" if asked == 1 else f"{asked} questions"
    out.print(f"[bold]{escape(found.name)}[/bold] ({found.trial_id}), {questions} of {escape(kept.split)}.")
    if failed:
        out.print(f"[yellow]{failed} of them failed.[/yellow] They count as 0.")
    if whole:
        out.print("The golden set has no holdout: the gate asks all questions, those that chose the trial among them.")
    stream(f"{path}\n")
    out.print(f"[dim]Commit it: `{escape(command)}` compares with it.[/dim]", soft_wrap=True)


def baseline_json(kept: Baseline, path: Path) -> dict[str, Any]:
    """What `rag baseline --json` prints."""
    found = kept.result
    counts = {"questions": len(found.questions), "failed": int(found.scores.failed.sum())}
    told = {"experiment": kept.experiment, "path": str(path), "split": kept.split, **counts}
    return told | {"trial": found.trial_id, "name": found.name}
