"""Weighted scores, computed by hand and against sums over dicts."""

from statistics import fmean, pstdev

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag.components.fusion.weighted import NORMALISATIONS, WeightedFusion
from rag.core.rankings import Rankings

LAW = settings(max_examples=60, deadline=None)  # a busy machine is no failure


def normalised(row: dict[int, float], how: str) -> tuple[dict[int, float], float]:
    """The definition, one question at a time."""
    if not row:
        return {}, 0.0
    lowest, highest = min(row.values()), max(row.values())
    if how == "max":
        return {place: max(score, 0.0) / highest if highest > 0 else 0.0 for place, score in row.items()}, 0.0
    if lowest == highest:
        return dict.fromkeys(row, 1.0 if how == "min_max" else 0.0), 0.0
    if how == "min_max":
        return {place: (score - lowest) / (highest - lowest) for place, score in row.items()}, 0.0
    mean, deviation = fmean(row.values()), pstdev(row.values())
    return {place: (score - mean) / deviation for place, score in row.items()}, (lowest - mean) / deviation


ROWS = st.dictionaries(st.integers(0, 7), st.integers(-300, 3000).map(lambda score: score / 100), max_size=6)


@LAW
@given(st.lists(st.tuples(ROWS, ROWS, ROWS), min_size=1, max_size=4), st.sampled_from(sorted(NORMALISATIONS)))
def test_sums_over_dicts(questions: list[tuple[dict[int, float], ...]], how: str) -> None:
    weights = [0.5, 0.2, 0.3]
    rankings = {
        str(name): Rankings.pack([sorted(rows[name].items(), key=lambda hit: (-hit[1], hit[0])) for rows in questions])
        for name in range(3)
    }
    fused = WeightedFusion(weights, how).fuse(rankings, 99)
    for question, rows in enumerate(questions):
        parts = [normalised(row, how) for row in rows]
        found = {place for row in rows for place in row}
        expected = {
            place: sum(weight * part.get(place, absent) for weight, (part, absent) in zip(weights, parts, strict=True))
            for place in found
        }
        assert dict(fused.row(question)) == pytest.approx(expected, abs=1e-6)
