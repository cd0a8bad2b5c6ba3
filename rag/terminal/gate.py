"""What a gate says."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.markup import escape
from rich.table import Table

from rag.baseline import Baseline
from rag.gate.decide import INSIDE, PASS, Row
from rag.gate.told import Told
from rag.terminal.output import number, out

EXCERPT = 100
COLOURS = {"PASS": "green", "FAIL": "red", "INCONCLUSIVE": "yellow", "WARN": "yellow"}


def gate(told: Told, written: Sequence[Path]) -> None:
    """The verdict first, then what it was read from, then the questions that lost most."""
    out.print(f"[bold {COLOURS[told.verdict]}]{told.verdict}[/]  {escape(told.sentence)}", soft_wrap=True)
    for key, old, new in told.changed:
        out.print(f"  {escape(key)}: {escape(str(old))} → {escape(str(new))}", soft_wrap=True)
    if told.judged:
        out.print()
        out.print(_rows(told))
    for each in told.judged:
        if each.shown != PASS or each.why == INSIDE:
            settle = f"; {each.needed:,} questions would settle it" if each.needed else ""
            out.print(f"[{COLOURS[each.shown]}]{escape(each.name)}[/]: {escape(each.why)}{settle}.", soft_wrap=True)
    if told.lost:
        out.print(
            f"\nQuestions that lost most ({escape('; '.join(f'{name}: {n}' for name, n in told.losses))})", soft_wrap=True
        )
        out.print(_lost(told))
    out.print(
        f"\n[dim]{len(told.gated.candidate.trial.golden.examples)} questions of {escape(told.gated.gate.split)}.", end=" "
    )
    out.print("[dim]Brackets: 95 % intervals that hold for all rows together.[/dim]", soft_wrap=True)
    for path in written[-1:]:
        out.print(str(path), markup=False, soft_wrap=True)


def _rows(told: Told) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1))
    for title in ("", "metric", "slice", "was", "is", "difference", "may lose", "n"):
        table.add_column(title, justify="left" if title in ("", "metric", "slice") else "right", no_wrap=True)
    for each in told.judged:
        verdict = f"[{COLOURS[each.shown]}]{each.shown}[/]"
        ends = "" if each.low is None else f" [dim]\\[{number(each.low)}, {number(each.high)}][/dim]"
        if isinstance(each, Row):
            figures = (
                number(each.base),
                number(each.candidate),
                number(each.difference) + ends,
                number(each.margin),
                str(each.n),
            )
            table.add_row(verdict, escape(each.column), escape(each.slice or "all"), *figures)
        else:
            value = str(int(each.value)) if each.value is not None and each.value.is_integer() else number(each.value)
            table.add_row(verdict, escape(each.text), "", "", value, ends.strip())
    return table


def _lost(told: Told) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 1))
    for lost in told.lost:
        sides = ", ".join(f"{column} {number(was)} → {number(now)}" for column, (was, now) in lost.scores.items())
        table.add_row(escape(lost.query_id), escape(sides), f"{escape(lost.stage)}\n[dim]{escape(_cut(lost.text))}[/dim]")
    return table


def _cut(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= EXCERPT else f"{flat[:EXCERPT]} …"


def baseline(kept: Baseline, path: Path) -> None:
    """What became the baseline, and where it lies."""
    found = kept.result
    failed = int(found.scores.failed.sum())
    out.print(
        f"[bold]{escape(found.name)}[/bold] ({found.trial_id}), {len(found.questions)} questions of {escape(kept.split)}."
    )
    if failed:
        out.print(f"[yellow]{failed} of them failed.[/yellow] They count as 0.")
    out.print(f"{path}\n[dim]Commit it: `rag gate {escape(kept.experiment)}` compares with it.[/dim]", soft_wrap=True)


def baseline_json(kept: Baseline, path: Path) -> dict[str, Any]:
    """What `rag baseline --json` prints."""
    found = kept.result
    counts = {"questions": len(found.questions), "failed": int(found.scores.failed.sum())}
    told = {"experiment": kept.experiment, "path": str(path), "split": kept.split, **counts}
    return told | {"trial": found.trial_id, "name": found.name}
