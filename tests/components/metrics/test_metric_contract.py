"""Every choice in conf/metric: it builds, stays in [0, 1], and knows the empty case."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from rag.config.build import Components
from rag.core.corpus import Corpus
from rag.core.rankings import Rankings
from rag.core.records import Answer, Chunk, Document, Evidence, Example, Hit, Query, Reply, Span
from rag.core.roles import AnswerMetric, AssessedMetric, RankingMetric
from rag.evaluation.scoring import Judged, gold_table, judge

CONF = Path(__file__).parents[3] / "conf"
FILES = sorted((CONF / "metric").glob("*.yaml"))
WIRING = yaml.safe_load((CONF / "config.yaml").read_text(encoding="utf-8"))


def build(path: Path) -> Any:
    nodes = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert list(nodes) == [path.stem], "a metric keys itself by its file name"
    node = {key: WIRING["coverage"] if value == "${coverage}" else value for key, value in nodes[path.stem].items()}
    if "generator" in node:
        node["generator"] = {"_target_": "support.judge_texts.SayingAsRagasWants"}
    return Components(("support",)).role("metric", node, f"metric.{path.stem}")


BUILT = {path.stem: build(path) for path in FILES}
RANKING = [name for name, metric in BUILT.items() if isinstance(metric, RankingMetric)]
ANSWER = [name for name, metric in BUILT.items() if isinstance(metric, AnswerMetric)]
ASSESSED = [name for name, metric in BUILT.items() if isinstance(metric, AssessedMetric)]
REFERRING = ("exact_match", "token_f1")
"""Those that read reference answers."""


def judged(depth: int = 20) -> Judged:
    """Sixty questions: spans, documents, both, and none."""
    random = np.random.default_rng(3)
    documents = [Document(f"d{n}", "x" * 90) for n in range(4)]
    corpus = Corpus.of(documents, [Span(f"d{n}", s, s + 30) for n in range(4) for s in range(0, 61, 20)])

    def gold(number: int) -> tuple[Evidence, ...]:
        groups = [
            Evidence((Span(f"d{random.integers(4)}", start, start + 25),), int(random.integers(1, 4))) for start in (5, 50)
        ]
        whole = [Evidence((f"d{n}",), int(random.integers(1, 4))) for n in random.permutation(4)[:2]]
        return ((), tuple(groups), tuple(whole), (*groups, *whole))[number % 4]

    examples = [Example(Query(f"q{number}", "?"), gold(number)) for number in range(60)]
    return judge(Rankings.top(random.random((60, len(corpus))), depth), gold_table(corpus, examples))


def test_the_wiring_names_metrics_that_there_are() -> None:
    (named,) = [entry["metric"] for entry in WIRING["defaults"] if isinstance(entry, dict) and "metric" in entry]
    assert set(named) <= set(BUILT)
    assert {column.split("@")[0] for column in WIRING["metrics"]} <= set(named)


def test_a_metric_measures_rankings_or_answers_or_what_a_judge_says_of_them() -> None:
    assert sorted(RANKING + ANSWER + ASSESSED) == sorted(BUILT)


@pytest.mark.parametrize("name", RANKING)
def test_ranking_metrics_stay_between_0_and_1_and_skip_what_has_no_gold(name: str) -> None:
    table = judged()
    for cut in (0, 1, 2, 5, 16, 1000):
        scores = BUILT[name].score(table, np.full(60, cut))
        assert (scores.shape, scores.dtype) == ((60,), np.float64)
        assert np.isnan(scores[~table.answerable]).all()
        given = scores[~np.isnan(scores)]
        assert len(given)
        assert ((given >= 0) & (given <= 1)).all()
        if cut == 0:
            assert not given.any()
        if cut == 5:
            assert given.any()


@pytest.mark.parametrize("name", RANKING)
def test_ranking_metrics_cut_every_question_at_its_own_rank(name: str) -> None:
    table = judged()
    cuts = np.arange(60) % 7
    expected = [BUILT[name].score(table, np.full(60, cut))[row] for row, cut in enumerate(cuts)]
    np.testing.assert_array_equal(BUILT[name].score(table, cuts), expected)


@pytest.mark.parametrize("name", RANKING)
def test_ranking_metrics_read_prefixes(name: str) -> None:
    # Where documents are ranked, four chunks are not four items.
    cuts, chunks = np.full(60, 4), np.arange(60) % 4 != 2
    short, long = BUILT[name].score(judged(4), cuts), BUILT[name].score(judged(16), cuts)
    np.testing.assert_array_equal(short[chunks], long[chunks])


@pytest.mark.parametrize("name", RANKING)
def test_ranking_metrics_change_nothing_that_they_read(name: str) -> None:
    table, cuts = judged(), np.full(60, 3)
    before = {key: array.copy() for key, array in table.to_arrays().items()}
    first = BUILT[name].score(table, cuts)
    np.testing.assert_array_equal(first, BUILT[name].score(table, cuts))
    for key, array in table.to_arrays().items():
        np.testing.assert_array_equal(array, before[key])


def answer(text: str, abstained: bool = False) -> Answer:
    contexts = tuple(Hit(Chunk(Span("d", start, start + 30), "x" * 30), 1.0) for start in (0, 30, 60))
    return Answer(Query("q", "?"), contexts, Reply(text), abstained=abstained)


TEXTS = ("", "The Eiffel Tower", "eiffel [1]", "One [1]. Two [2, 3]. Three.", "!!!", "naïve ☃\u2028\0", "[9]")
GOLD = ((), (Evidence((Span("d", 5, 25),)), Evidence((Span("d", 40, 80), Span("d", 70, 75)), 2)), (Evidence(("d",)),))


@pytest.mark.parametrize("name", ANSWER)
@pytest.mark.parametrize("text", TEXTS)
def test_answer_metrics_stay_between_0_and_1_or_do_not_apply(name: str, text: str) -> None:
    for gold in GOLD:
        for declined in (False, True):
            asked = Example(Query("q", "?"), gold, ("the Eiffel Tower", "Paris"))
            value = BUILT[name].measure(asked, answer(text, declined))
            assert np.isnan(value) or 0 <= value <= 1
            assert value == BUILT[name].measure(asked, answer(text, declined)) or np.isnan(value)


@pytest.mark.parametrize("name", REFERRING)
@pytest.mark.parametrize("text", ["", "The Eiffel Tower", "eiffel", "!!!", "naïve ☃\u2028\0"])
def test_reference_answers_are_what_counts(name: str, text: str) -> None:
    asked = Example(Query("q", "?"), answers=("the Eiffel Tower", "Paris"))
    assert 0 <= BUILT[name].measure(asked, answer(text)) <= 1
    assert BUILT[name].measure(Example(Query("q", "?"), answers=(text,)), answer(text)) == 1
    assert np.isnan(BUILT[name].measure(Example(Query("q", "?")), answer(text)))
    assert BUILT[name].measure(asked, answer("")) == 0
