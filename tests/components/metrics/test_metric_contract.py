"""The laws of metrics, for every choice in conf/metric."""

import numpy as np
import pytest
import yaml
from support.choices import CONF, choices, content, node

from rag.config.build import Components
from rag.core.corpus import Corpus
from rag.core.rankings import Rankings
from rag.core.roles import AnswerMetric, AssessedMetric, RankingMetric
from rag.core.types import Document, Evidence, Example, Query, Span
from rag.evaluation.scoring import Judged, gold_table, judge
from rag.testing import check_metric

WIRING = yaml.safe_load((CONF / "config.yaml").read_text(encoding="utf-8"))
SCRIPTED = {"generator": {"_target_": "support.judge_texts.SayingAsRagasWants"}}
NODES = {name: node("metric", name, **(SCRIPTED if name.startswith("ragas") else {})) for name in choices("metric")}
BUILT = {name: Components(("support",)).role("metric", values, f"metric.{name}") for name, values in NODES.items()}
RANKING = [name for name, metric in BUILT.items() if isinstance(metric, RankingMetric)]


def judged(depth: int) -> Judged:
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


def test_files_and_wiring_name_the_same_metrics() -> None:
    for name in BUILT:
        keys = content(f"metric/{name}")
        assert [key for key in keys if key != "defaults"] == [name]
    (named,) = [entry["metric"] for entry in WIRING["defaults"] if isinstance(entry, dict) and "metric" in entry]
    assert set(named) <= set(BUILT)
    assert {column.split("@")[0] for column in WIRING["metrics"]} <= set(named)


@pytest.mark.parametrize("name", BUILT)
def test_laws(name: str) -> None:
    kinds = [isinstance(BUILT[name], kind) for kind in (RankingMetric, AnswerMetric, AssessedMetric)]
    assert sum(kinds) == 1
    check_metric(BUILT[name])


@pytest.mark.parametrize("name", RANKING)
def test_ranking_metrics_read_prefixes_and_find_something(name: str) -> None:
    # In rankings of documents four chunks may be fewer than four items.
    cuts, chunks = np.full(60, 4), np.arange(60) % 4 != 2
    short, long = BUILT[name].score(judged(4), cuts), BUILT[name].score(judged(16), cuts)
    np.testing.assert_array_equal(short[chunks], long[chunks])
    scores = BUILT[name].score(judged(20), np.full(60, 5))
    assert scores[~np.isnan(scores)].any()
