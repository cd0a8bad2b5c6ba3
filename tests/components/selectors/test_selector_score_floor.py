"""Absolute and relative floors of scores."""

from rag.components.selectors.score_floor import ScoreFloorSelector
from rag.core.corpus import Corpus
from rag.core.rankings import Rankings

NOWHERE = Corpus.of([], [])


def kept(rows: list[list[tuple[int, float]]], floor: float, relative: bool = False) -> list[list[tuple[int, float]]]:
    selected = ScoreFloorSelector(floor, relative).select(Rankings.pack(rows), NOWHERE)
    return [selected.row(question) for question in range(len(rows))]


def test_hits_below_the_floor_are_dropped_and_those_on_it_kept() -> None:
    assert kept([[(3, 0.9), (1, 0.5), (2, 0.4)], [(0, 0.1)]], 0.5) == [[(3, 0.9), (1, 0.5)], []]
    assert kept([[(3, 2.0), (1, -4.0), (2, -4.5)]], -4) == [[(3, 2.0), (1, -4.0)]], "logits"


def test_a_relative_floor_moves_with_the_best_score() -> None:
    assert kept([[(0, 8.0), (1, 4.0), (2, 3.9)], [(0, 0.2), (1, 0.1), (2, 0.05)], []], 0.5, True) == [
        [(0, 8.0), (1, 4.0)],
        [(0, 0.2), (1, 0.1)],
        [],
    ]


def test_a_relative_floor_ignores_scores_that_are_not_positive() -> None:
    assert kept([[(0, -1.0), (1, -9.0)], [(0, 0.0), (1, -1.0)]], 0.5, True) == [[(0, -1.0), (1, -9.0)], [(0, 0.0), (1, -1.0)]]


def test_rankings_become_as_wide_as_the_longest_row() -> None:
    selected = ScoreFloorSelector(0.5).select(Rankings.pack([[(3, 0.9), (1, 0.5), (2, 0.4)], [(0, 0.1)]]), NOWHERE)
    assert selected.positions.shape == (2, 2)
