"""A gate on two files of scores: the verdicts of a gate on trials, with margins from the command line."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from rag.analysis.compare import score_files
from rag.analysis.compare.comparability import differences_in_words, span_of
from rag.analysis.gate.decide import Pair, Row, decide
from rag.analysis.gate.finding import INCONCLUSIVE, PASS
from rag.analysis.gate.spec import MARGIN, Margin, check_inconclusive
from rag.analysis.gate.verdict import GateReport, overall, said_of
from rag.core.arrays import Flags
from rag.core.errors import ConfigError, DataError
from rag.core.figures import amount
from rag.evaluation.data.golden import Golden


def gate(
    names: Sequence[str],
    margins: Sequence[str] = (),
    lower: Sequence[str] = (),
    bridges: Collection[str] = (),
    inconclusive: str = "",
) -> GateReport:
    """The report on the second of two files of scores against the first; UserError for wrong input.

    `margins` are METRIC=LOSS; without them each metric of shares may lose MARGIN. A row does not pass if questions have a
    value in one file only, unless `bridges` has metrics.
    """
    if len(names) > 2:
        raise ConfigError(" ".join(names), "are more than two files", "name two: rag gate BASE NEW")
    found = score_files.matched(names, (), lower, bridges)
    allowed = [_margin(text, found.columns) for text in margins] or [
        Margin(name, "", MARGIN) for place, name in enumerate(found.columns) if span_of(name, found.values[:, :, place]) == 1
    ]
    notes, columns = list(found.notes), [margin.column for margin in allowed]
    if left := [name for name in found.columns if name not in columns]:
        notes.append(f"Not judged: {', '.join(left)}. --margin METRIC=LOSS says how much each may lose.")
    if not allowed:
        raise DataError("gate", f"no metric is a share from 0 to 1: {', '.join(left)}", "--margin METRIC=LOSS")
    values = found.values[:, :, [found.columns.index(name) for name in columns]]
    half: Flags = np.logical_xor(*np.isnan(values))
    signed = np.where(half, np.nan, values) * np.array([-1.0 if name in found.lower else 1.0 for name in columns])
    rows = decide(Pair(Golden((), ()), tuple(columns), signed[0], signed[1], found.cluster), allowed)
    base, new = found.results
    asked = np.array([name in new.questions and "metrics" not in bridges for name in base.questions])
    missing = half[asked].sum(axis=0).tolist()
    rows = tuple(_row(row, count, row.column in found.lower) for row, count in zip(rows, missing, strict=True))
    verdict, compared = overall(rows), len(base.questions.keys() & new.questions.keys())
    about = (Path(new.name).stem, "both files", len(new.questions), check_inconclusive(inconclusive or "warn"))
    sides, apart = (("", base.name), ("", new.name)), differences_in_words(base, new)
    return GateReport(
        *about, *sides, verdict, said_of(verdict, rows, ()), rows, compared=compared, apart=apart, notes=tuple(notes)
    )


def _margin(text: str, columns: Sequence[str]) -> Margin:
    name, _, size = text.rpartition("=")
    try:
        margin = float(size)
    except ValueError:
        margin = -1.0
    if name not in columns or not 0 <= margin < np.inf:
        remedy = f"METRIC=LOSS, as in faithfulness=0.03; metrics: {', '.join(columns)}"
        raise ConfigError(f"--margin {text}", "is no metric with a loss from 0", remedy)
    return Margin(name, "", margin)


def _row(row: Row, missing: int, is_lower: bool) -> Row:
    """A row with the signs of the file, undecided where a PASS rests on the questions that have a value in both files."""
    if missing and row.verdict == PASS:
        why = f"{amount(missing, 'question')} with a value in one file only; if that is meant: --bridge metrics"
        row = replace(row, verdict=INCONCLUSIVE, why=why)
    figures = {"base": row.base, "candidate": row.candidate, "difference": row.difference, "low": row.high, "high": row.low}
    turned = {name: None if value is None else 0.0 - value for name, value in figures.items()}
    return replace(row, **turned) if is_lower else row  # type: ignore[arg-type]
