"""The order of rankings, against Python that sorts tuples and adds up dicts."""

from math import inf
from random import Random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from rag.core.rankings import DIGITS, NOTHING, Rankings, merged
from rag.testing.laws import lawful

LAW = settings(max_examples=50, deadline=None)  # a busy machine is no failure

FEW = st.sampled_from([-inf, -1.5, -0.0, 0.0, 0.25, 0.25 + 4e-7, 0.25 - 4e-7, 1.0, 12.345678, 12.3456784])
"""So few different scores that there are ties at every edge, some of them only after rounding."""


def matrices(elements: st.SearchStrategy[float] = FEW) -> st.SearchStrategy[NDArray[np.float64]]:
    shapes = st.tuples(st.integers(0, 4), st.integers(0, 12))
    return shapes.flatmap(lambda shape: arrays(np.float64, shape, elements=elements))


def by_sorting(row: dict[int, float], depth: int) -> list[tuple[int, float]]:
    hits = [(position, round(score, DIGITS)) for position, score in row.items() if score != -inf]
    return sorted(hits, key=lambda hit: (-hit[1], hit[0]))[:depth]


@LAW
@given(matrices(), st.integers(0, 15))
def test_top_sorts_every_position(scores: NDArray[np.float64], depth: int) -> None:
    found = Rankings.top(scores, depth)
    lawful(found, len(scores), depth)
    assert found.positions.shape == (len(scores), min(depth, scores.shape[1]))
    for question, row in enumerate(scores):
        assert found.row(question) == by_sorting(dict(enumerate(row.tolist())), depth)


@LAW
@given(matrices(st.floats(-40, 40, width=32)), st.integers(1, 15))
def test_top_of_float32_is_top_of_the_same_numbers(scores: NDArray[np.float64], depth: int) -> None:
    narrow, wide = Rankings.top(scores.astype(np.float32), depth), Rankings.top(scores, depth)
    assert narrow.positions.tolist() == wide.positions.tolist()
    assert narrow.scores.tolist() == wide.scores.tolist()


@LAW
@given(matrices(), st.integers(0, 15), st.randoms(use_true_random=False))
def test_ordered_does_not_depend_on_the_order_of_candidates(scores: NDArray[np.float64], depth: int, random: Random) -> None:
    places = list(range(100, 100 + scores.shape[1]))
    random.shuffle(places)
    found = Rankings.ordered(np.broadcast_to(places, scores.shape), scores, depth)
    lawful(found, len(scores), depth)
    for question, row in enumerate(scores):
        assert found.row(question) == by_sorting(dict(zip(places, row.tolist(), strict=True)), depth)


def test_entries_without_a_position_or_a_score_are_no_hits_and_zero_has_no_sign() -> None:
    found = Rankings.ordered([[4, NOTHING, 2]], [[-inf, 9.0, -3.0]], 10)
    assert found.row(0) == [(2, -3.0)]
    lawful(found, 1, 3)
    assert np.signbit(Rankings.top(np.array([[-1e-9]]), 1).scores).tolist() == [[False]]


def test_pack_row_first_and_len() -> None:
    rows = [[(3, 2.0), (1, 1.0)], [], [(0, 0.5)]]
    packed = Rankings.pack(rows)
    lawful(packed, 3, 2)
    assert len(packed) == 3
    assert [packed.row(question) for question in range(3)] == rows
    assert packed.first(1).positions.tolist() == [[3], [NOTHING], [0]]
    assert Rankings.pack([]).positions.shape == (0, 0)
    assert Rankings.pack([[], []]).positions.shape == (2, 0)


LISTS = st.integers(1, 3).flatmap(
    lambda questions: st.lists(
        st.lists(st.dictionaries(st.integers(0, 8), FEW, max_size=6), min_size=questions, max_size=questions),
        min_size=1,
        max_size=4,
    )
)


@LAW
@given(LISTS, st.integers(0, 12), st.sampled_from([0.0, -2.5, 1.0]))
def test_merged_adds_up_like_a_dict(lists: list[list[dict[int, float]]], depth: int, base: float) -> None:
    rankings = [Rankings.pack([by_sorting(row, 99) for row in rows]) for rows in lists]
    found = merged(rankings, [ranking.scores for ranking in rankings], depth, base)
    lawful(found, len(lists[0]), depth)
    for question in range(len(lists[0])):
        sums: dict[int, float] = {}
        for ranking in rankings:
            for position, score in ranking.row(question):
                sums[position] = sums.get(position, 0.0) + score
        assert found.row(question) == by_sorting({position: total + base for position, total in sums.items()}, depth)


def test_merged_takes_a_base_per_question_and_rankings_without_hits() -> None:
    one = Rankings.pack([[(1, 1.0)], [(2, 1.0)]])
    assert merged([one], [one.scores], 5, np.array([[10.0], [20.0]])).scores.tolist() == [[11.0], [21.0]]
    for widths in ((0, 0), (0, 3), (3, 0)):
        rankings = [Rankings.top(np.ones((2, width)), width) for width in widths]
        found = merged(rankings, [ranking.scores for ranking in rankings], 9)
        assert found.positions.tolist() == [list(range(max(widths)))] * 2
