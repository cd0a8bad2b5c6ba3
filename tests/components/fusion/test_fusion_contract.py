"""The laws of fusions, for every choice in conf/fusion; `rag.testing` has those that hold for any plug-in."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.choices import build, choices

from rag.core.rankings import NOTHING, Rankings
from rag.core.roles import Fusion, changes_nothing
from rag.testing import check_fusion
from rag.testing.laws import lawful

CHANGES: dict[str, list[dict[str, Any]]] = {
    "single": [{"index": "one"}, {"index": "two"}],
    "rrf": [{}, {"k": 0}, {"weights": [0.2, 3.0]}, {"weights": [0, 1]}],
    "weighted": [{}, {"normalisation": "max"}, {"normalisation": "z"}, {"weights": [1.0, 0.0]}],
}
VARIANTS = [(choice, change) for choice in choices("fusion") for change in CHANGES.get(choice, [{}])]

SCORES = st.sampled_from([-7.5, -1.0, 0.0, 0.1, 0.1000004, 0.5, 1.0, 23.75])
ROWS = st.dictionaries(st.integers(0, 9), SCORES, max_size=7)
PAIRS = st.lists(st.tuples(ROWS, ROWS), max_size=4)


def rankings_of(pairs: list[tuple[dict[int, float], dict[int, float]]]) -> dict[str, Rankings]:
    def ranking(rows: list[dict[int, float]]) -> Rankings:
        hits = [Rankings.ordered([[*row, NOTHING]], [[*row.values(), -np.inf]], 99).row(0) for row in rows]
        return Rankings.pack(hits)

    return {"one": ranking([pair[0] for pair in pairs]), "two": ranking([pair[1] for pair in pairs])}


@pytest.mark.parametrize(("choice", "change"), VARIANTS)
class TestEveryFusion:
    def test_laws(self, choice: str, change: dict[str, Any]) -> None:
        fusion = build("fusion", choice, **change)
        check_fusion(fusion)
        assert not changes_nothing(fusion)

    @settings(max_examples=25, deadline=None)
    @given(PAIRS, st.integers(0, 12))
    def test_drawn_rankings(self, choice: str, change: dict[str, Any], pairs: list[Any], depth: int) -> None:
        fusion: Fusion = build("fusion", choice, **change)
        rankings = rankings_of(pairs)
        whole, fused = fusion.fuse(rankings, 99), fusion.fuse(rankings, depth)
        expected = [
            {"one": {*one}, "two": {*two}}.get(change.get("index", ""), {*one, *two})
            for one, two in pairs
        ]  # fmt: skip
        lawful(whole, len(pairs), 99, expected)
        assert [{position for position, _ in whole.row(row)} for row in range(len(pairs))] == expected, "no hit is lost"
        lawful(fused, len(pairs), depth)
        assert [fused.row(row) for row in range(len(pairs))] == [whole.row(row)[:depth] for row in range(len(pairs))]
        assert [fusion.fuse(rankings_of([pair]), 99).row(0) for pair in pairs] == [whole.row(row) for row in range(len(pairs))]
        for name, ranking in rankings_of(pairs).items():
            assert rankings[name].positions.tolist() == ranking.positions.tolist(), "inputs stay as they were"
            assert rankings[name].scores.tolist() == ranking.scores.tolist()
