"""A gate on two files of scores: the verdicts of a gate on trials, with margins from the command line."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from rag.analysis.compare import score_files
from rag.analysis.compare.direction import listed
from rag.analysis.compare.score_files import Matched
from rag.analysis.gate.decide import INCONCLUSIVE, PASS, SLACK, Pair, Row, decide
from rag.analysis.gate.spec import MARGIN, Margin, check_inconclusive
from rag.analysis.gate.verdict import MOST_LOST, About, GateReport, Lost, overall, said_of
from rag.core.errors import ConfigError, DataError
from rag.core.figures import amount
from rag.evaluation.data.golden import Golden
from rag.evaluation.statistics.paired import span_of

BRIDGE = "questions"


def gate(
    names: Sequence[str], margins: Sequence[str] = (), better: Sequence[str] = (), bridge: bool = False, inconclusive: str = ""
) -> GateReport:
    """The report on the second of two files of scores, with the first as the baseline; UserError for wrong input.

    `margins` are texts METRIC=LOSS; without them every metric of shares from 0 to 1 may lose MARGIN. Questions or values that
    only one of the files has leave a PASS undecided unless `bridge` allows them.
    """
    if len(names) != 2:
        raise ConfigError("gate", f"{len(names)} files are given", "name two: rag gate BASE NEW")
    found = score_files.matched(names, (), better)
    allowed, notes = _margins(found, margins)
    metrics = [margin.column for margin in allowed]
    signs = np.array([-1.0 if metric in found.lower else 1.0 for metric in metrics])
    sides = found.values[:, :, [found.metrics.index(metric) for metric in metrics]]
    half = np.isnan(sides[0]) != np.isnan(sides[1])
    both = np.where(half, np.nan, sides) * signs
    pair = Pair(Golden((), ()), tuple(metrics), both[0], both[1], found.cluster)
    rows = tuple(
        _turned(row if bridge else _whole(row, int(half[:, column].sum())), row.column in found.lower)
        for column, row in enumerate(decide(pair, allowed))
    )
    verdict = overall(rows)
    compared = int((~np.isnan(both[0]) & ~np.isnan(both[1])).any(axis=1).sum())
    counts = {"added": len(found.added), "removed": len(found.removed)}
    apart = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
    about = About(
        "", "", len(found.tables[1].questions), check_inconclusive(inconclusive or "warn"), *(("", name) for name in names)
    )
    lost = _lost(found, pair, signs)
    return GateReport(
        replace(about, notes=(*found.notes, *notes)),
        verdict,
        said_of(verdict, rows, ()),
        rows,
        lost=lost,
        compared=compared,
        apart=apart,
    )


def _margins(found: Matched, given: Sequence[str]) -> tuple[list[Margin], list[str]]:
    """The margins, and a note on the metrics without one. ConfigError for wrong ones, DataError if there is none."""
    margins = []
    for text in given:
        metric, _, size = text.rpartition("=")
        try:
            margin = float(size)
        except ValueError:
            margin = -1.0
        if metric not in found.metrics or not 0 <= margin < np.inf:
            raise ConfigError(
                f"--margin {text}", "is no metric with a loss", f"METRIC=LOSS, as in faithfulness=0.03; {listed(found.metrics)}"
            )
        margins.append(Margin(metric, "", margin))
    shares = [metric for column, metric in enumerate(found.metrics) if np.isfinite(span_of(found.values[:, :, column]))]
    margins = margins or [Margin(metric, "", MARGIN) for metric in shares]
    left = [metric for metric in found.metrics if metric not in {margin.column for margin in margins}]
    if not margins:
        raise DataError(
            "gate", f"no metric has values from 0 to 1: {', '.join(left)}", "say how much may be lost: --margin METRIC=LOSS"
        )
    return margins, [f"Not judged: {', '.join(left)}. --margin METRIC=LOSS says how much may be lost."] if left else []


def _whole(row: Row, missing: int) -> Row:
    """A row that does not pass where questions have a value in one file only: the rest may be the easier ones."""
    if row.verdict != PASS or not missing:
        return row
    why = f"{amount(missing, 'question')} with a value in one file only; if that is meant: --bridge {BRIDGE}"
    return replace(row, verdict=INCONCLUSIVE, why=why)


def _turned(row: Row, is_lower: bool) -> Row:
    """A row of a metric of which less is better with the signs of the files."""
    if not is_lower or row.base is None or row.candidate is None or row.difference is None:
        return row
    low, high = (None if end is None else 0.0 - end for end in (row.high, row.low))
    return replace(row, base=0.0 - row.base, candidate=0.0 - row.candidate, difference=0.0 - row.difference, low=low, high=high)


def _lost(found: Matched, pair: Pair, signs: np.ndarray) -> tuple[Lost, ...]:
    """The questions that lost most, by the sum of their losses in metrics of shares."""
    losses = -np.nansum(pair.differences, axis=1)
    order = np.argsort(-losses, kind="stable")[:MOST_LOST]
    return tuple(_question(found, pair, signs, int(row)) for row in order if losses[row] > SLACK)


def _question(found: Matched, pair: Pair, signs: np.ndarray, row: int) -> Lost:
    scores: Mapping[str, tuple[float, float]] = {
        metric: (float(pair.base[row, column] * signs[column]), float(pair.candidate[row, column] * signs[column]))
        for column, metric in enumerate(pair.columns)
        if pair.differences[row, column] < -SLACK
    }
    return Lost(found.questions[row], "", "", dict(scores), "")
