"""Reciprocal rank fusion, by hand and against sums over dicts."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag.components.fusion.rrf import ReciprocalRankFusion
from rag.components.fusion.weighted import WeightedFusion
from rag.core.errors import ConfigError
from rag.core.rankings import Rankings

LAW = settings(max_examples=40, deadline=None)  # a busy machine is no failure

LEXICAL = Rankings.pack([[(5, 9.0), (7, 8.0), (3, 1.0)]])
DENSE = Rankings.pack([[(3, 0.9), (4, 0.8)]])


def test_k_and_weights() -> None:
    fused = ReciprocalRankFusion(k=1, weights=[0.5, 2]).fuse({"bm25s": LEXICAL, "dense": DENSE}, 2)
    assert fused.row(0) == [(3, pytest.approx(0.5 / 4 + 2 / 2)), (4, pytest.approx(2 / 3, abs=1e-6))]


@LAW
@given(st.lists(st.lists(st.permutations(range(6)).map(lambda row: row[:4]), min_size=2, max_size=2), min_size=1, max_size=4))
def test_sums_over_dicts(lists: list[list[list[int]]]) -> None:
    packed = {
        str(name): Rankings.pack([[(position, -float(rank)) for rank, position in enumerate(row)] for row in rows])
        for name, rows in enumerate(lists)
    }
    fused = ReciprocalRankFusion().fuse(packed, 6)
    for question in range(2):
        sums: dict[int, float] = {}
        for rows in lists:
            for rank, position in enumerate(rows[question], start=1):
                sums[position] = sums.get(position, 0.0) + 1 / (60 + rank)
        assert dict(fused.row(question)) == pytest.approx(sums, abs=1e-6)


@pytest.mark.parametrize("fusion", [ReciprocalRankFusion(weights=[1, 2, 3]), WeightedFusion([0.5, 0.2, 0.3])])
def test_one_weight_per_index(fusion: ReciprocalRankFusion | WeightedFusion) -> None:
    with pytest.raises(ConfigError, match=r"3 weights for 2 indexes \(bm25s, dense\)"):
        fusion.check(["bm25s", "dense"])
    with pytest.raises(ConfigError, match="3 weights for 2 indexes"):
        fusion.fuse({"bm25s": LEXICAL, "dense": DENSE}, 10)
    ReciprocalRankFusion().check(["one", "two", "three"])
