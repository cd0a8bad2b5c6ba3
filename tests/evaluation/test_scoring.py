"""Columns as typed, and tables of scores."""

from collections.abc import Sequence

import numpy as np
import pytest

from rag.components.metrics.char_recall import CharRecall
from rag.components.metrics.exact_match import ExactMatch
from rag.components.metrics.judged import JudgedShare
from rag.components.metrics.recall import Recall
from rag.core.corpus import Corpus
from rag.core.errors import ConfigError
from rag.core.rankings import Rankings
from rag.core.types import Answer, Document, Evidence, Example, Query, Reply, Span
from rag.evaluation.scoring import Column, Judged, Metric, Scores, budgets, gold_table, judge, parse_column, score

CORPUS = Corpus.of(
    [Document("d", "x" * 100), Document("e", "x" * 100)], [Span(d, s, s + 10) for d in "de" for s in range(0, 100, 10)]
)
METRICS: dict[str, Metric] = {
    "recall": Recall(),
    "judged": JudgedShare(),
    "char_recall": CharRecall(),
    "exact_match": ExactMatch(),
}


def example(name: str, *starts: int, answers: tuple[str, ...] = ()) -> Example:
    return Example(Query(name, "?"), tuple(Evidence((Span("d", start, start + 10),)) for start in starts), answers)


def judged(examples: Sequence[Example], *orders: Sequence[int]) -> Judged:
    rankings = Rankings.pack([[(position, float(-rank)) for rank, position in enumerate(order)] for order in orders])
    return judge(rankings, gold_table(CORPUS, examples))


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("recall@5", Column("recall@5", "recall", "ranks", 5)),
        ("recall@k", Column("recall@k", "recall", "ranks", 7)),
        ("recall@2000chars", Column("recall@2000chars", "recall", "chars", 2000)),
        ("exact_match", Column("exact_match", "exact_match")),
    ],
)
def test_columns_are_read_as_typed(text: str, column: Column) -> None:
    assert parse_column(text, 7, METRICS) == column
    assert parse_column(text, 7) == column


def test_a_budget_of_characters_counts_the_part_of_a_hit_that_fits() -> None:
    """Chunks of 10 characters; the gold is [20, 30) of `d`, needed by half. A passage of three chunks begins with its hit."""
    asked = [example("a", 20), example("b", 20), example("c", 20)]
    plain = Rankings.pack([[(0, 2.0), (2, 1.0)], [(2, 1.0), (0, 0.0)], []])
    ranks, joined = np.array([[1, 2, 0], [1, 1, 1], [0, 0, 0]], np.int32), np.array([[True] * 3] * 3)
    read = Rankings(np.array([[0, 2, -1], [1, 0, 2], [-1, -1, -1]], np.int32), np.zeros((3, 3)), ranks, joined)

    def values(rankings: Rankings, name: str) -> list[float]:
        column, cut = parse_column(name, 5), budgets(rankings, CORPUS, asked, 0.5)
        return column.measure(METRICS[column.metric], judge(rankings, gold_table(CORPUS, asked)), cut).tolist()

    assert [values(plain, f"recall@{n}chars") for n in (4, 5, 14, 15)] == [[0, 0, 0], [0, 1, 0], [0, 1, 0], [1, 1, 0]]
    assert [values(plain, f"char_recall@{n}chars") for n in (3, 13, 99)] == [[0, 0.3, 0], [0.3, 1, 0], [1, 1, 0]]
    assert [values(read, f"recall@{n}chars") for n in (14, 24, 25)] == [[0, 0, 0], [1, 0, 0], [1, 1, 0]]


def answer(text: str) -> Answer:
    return Answer(Query("q", "?"), (), Reply(text))


def test_a_table_holds_every_question_in_every_column() -> None:
    asked = [example("a", 0, 50, answers=("Yes!",)), example("b", 0, answers=("no",)), example("c")]
    table = judged(asked, [0, 5], [3, 0], [1])
    replies = [answer("yes")] * 3
    columns = ["recall@1", "recall@k", "recall@10chars", "exact_match"]
    scores = score(table, replies, asked, METRICS, columns, k=2)
    assert scores.query_ids == ("a", "b", "c")
    assert scores.columns == tuple(columns)
    nan = float("nan")
    np.testing.assert_array_equal(scores.values, [[0.5, 1, 0.5, 1], [0, 1, 0, 0], [nan, nan, nan, nan]])
    assert not scores.failed.any()
    np.testing.assert_array_equal(scores.column("recall@k"), [1, 1, nan])
    without = score(judged(asked[:1], [0]), None, asked[:1], METRICS, ["exact_match", "recall@1"], k=1)
    np.testing.assert_array_equal(without.values, [[nan, 0.5]])


def test_a_failed_question_scores_0_in_every_column_that_applies() -> None:
    asked = [example("a", 0, answers=("",)), example("b", 0), example("c")]
    table = judged(asked, [0], [0], [0])
    columns = ["recall@1", "judged@1", "char_recall@1", "exact_match"]
    scores = score(table, [None, answer(""), answer("")], asked, METRICS, columns, 1, failed=np.array([False, True, True]))
    nan = float("nan")
    np.testing.assert_array_equal(scores.values, [[0, 0, 0, 0], [0, 0, 0, nan], [nan, nan, nan, nan]])
    assert scores.failed.tolist() == [True, True, True]


def test_invalid_columns_and_missing_answers_are_refused() -> None:
    asked = [example("a", 0)]
    for column, error in (("recal@5", "did you mean 'recall'"), ("recall", "no cut-off")):
        with pytest.raises(ConfigError, match=error):
            score(judged(asked, [0]), None, asked, METRICS, [column], 5)
    asked = [example("a", 0, answers=("x",)), example("b", 0)]
    with pytest.raises(ValueError):  # noqa: PT011
        score(judged(asked, [0], [1]), [answer("x")], asked, METRICS, ["exact_match"], 5)


def test_scores_survive_the_round_trip_to_arrays() -> None:
    asked = [example("größe ☃", 0), example("", 50)]
    scores = score(judged(asked, [0], [1]), None, asked, METRICS, ["recall@1", "exact_match"], 1)
    arrays = scores.to_arrays()
    assert all(array.dtype != object for array in arrays.values())
    again = Scores.from_arrays(arrays)
    assert (again.query_ids, again.columns) == (scores.query_ids, scores.columns)
    np.testing.assert_array_equal(again.values, scores.values)
    np.testing.assert_array_equal(again.failed, scores.failed)
    none = Scores.from_arrays(score(judged([]), None, [], METRICS, ["recall@1"], 1).to_arrays())
    assert (none.query_ids, none.values.shape) == ((), (0, 1))
