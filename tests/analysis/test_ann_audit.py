"""Losses of approximate search, against exact search with FAISS and against trials with one index."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag.analysis import ann_audit
from rag.components.indexes.faiss_flat import FlatSearcher
from rag.config.experiment import ad_hoc
from rag.core.errors import DataError
from rag.core.rankings import Rankings
from rag.execution.sweep import sweep, trial_scores

FIXED = ("dataset=native", "embedder=hashing", "embedder.dimensions=64", "latency=0", "chunker=fixed", "chunker.size=40")
LOSSY = ("index.faiss_ivf.lists=5", "index.faiss_ivf.probes=1")


def ran(golden: Path, *overrides: str) -> Any:
    ready = sweep.prepare(ad_hoc([*FIXED, "generator=none", f"dataset.path={golden}", *overrides]))
    done = sweep.run(ready.plan, ready.store, ready.settings, lambda key, outcome: None)
    assert all(row.status == "done" for row in done.board.rows)
    return ready


def audited(golden: Path, *overrides: str, column: str = "ndcg@10") -> tuple[ann_audit.Audit, ...]:
    ready = ran(golden, *overrides)
    return ann_audit.audit_indexes(ready.plan.trials[0], ready.plan, ready.store, column)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 60), st.integers(1, 30), st.booleans())
def test_exact_search_is_that_of_products_in_float64(seed: int, size: int, depth: int, repeated: bool) -> None:
    random = np.random.default_rng(seed)
    vectors = random.normal(size=(size, 8)).astype(np.float32)
    if repeated:
        vectors = vectors[random.integers(0, max(1, size // 3), size)]  # equal chunks have equal scores
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    queries = np.concatenate([vectors[:3], random.normal(size=(2, 8)).astype(np.float32)])
    products = queries.astype(np.float64) @ vectors.astype(np.float64).T
    ours, theirs = Rankings.top(products, depth), FlatSearcher(vectors).search([], queries, depth)
    np.testing.assert_array_equal(ours.positions, theirs.positions)
    np.testing.assert_allclose(ours.scores, theirs.scores)


def test_overlap() -> None:
    wanted = Rankings.pack([[(1, 3.0), (2, 2.0), (3, 1.0)], [(1, 1.0)], []])
    found = Rankings.pack([[(2, 3.0), (9, 2.0), (1, 1.0)], [(1, 1.0)], [(5, 1.0)]])
    assert ann_audit.overlap(found, wanted, 1) == pytest.approx((0 + 1) / 2)
    assert ann_audit.overlap(found, wanted, 2) == pytest.approx((1 / 2 + 1) / 2)
    assert ann_audit.overlap(found, wanted, 3) == pytest.approx((2 / 3 + 1) / 2)
    assert np.isnan(ann_audit.overlap(Rankings.pack([[]]), Rankings.pack([[]]), 3))


def test_exact_indexes_lose_nothing(here: Path, golden: Path) -> None:
    found = audited(golden, "index=[bm25s,dense,faiss_hnsw,chroma,qdrant]", "index.faiss_hnsw.ef_search=200")
    assert [each.index for each in found] == ["dense", "faiss_hnsw", "chroma", "qdrant"]
    assert all(each.exact for each in found)
    assert found[0].recall == ann_audit.Loss(found[0].recall.exact, found[0].recall.exact, 0.0, 0.0, 0.0, 5)
    assert found[0].embedder_lost == pytest.approx(1 - found[0].recall.exact)
    assert found[0].kind == "FaissFlatIndex"
    assert audited(golden, "index=[bm25s]", "fusion=single") == (), "word search has nothing to audit"
    assert [each.index for each in audited(golden, "index=[faiss_flat,dense]")] == ["faiss_flat", "dense"]


def test_the_loss_is_the_difference_of_trials_with_one_index(here: Path, golden: Path) -> None:
    (found,) = audited(golden, "index=[faiss_ivf]", "fusion=single", "depth=10", *LOSSY)
    assert not found.exact
    assert 0 < found.overlap_at_10 < 1
    means = {}
    for index, lossy in (("[faiss_ivf]", LOSSY), ("[dense]", ())):
        ready = ran(golden, f"index={index}", "fusion=single", "depth=10", "metrics=[ndcg@10,recall@10]", *lossy)
        scores = trial_scores.read_scores(ready.plan.trials[0], ready.plan, ready.store).scores
        means[index] = np.nanmean(scores.values, axis=0)
    assert (found.metric.approximate, found.recall.approximate) == pytest.approx(tuple(means["[faiss_ivf]"]))
    assert (found.metric.exact, found.recall.exact) == pytest.approx(tuple(means["[dense]"]))
    assert found.metric.lost == pytest.approx(found.metric.exact - found.metric.approximate)
    assert found.recall.low <= found.recall.lost <= found.recall.high
    assert found.embedder_lost == pytest.approx(1 - found.recall.exact)
    assert json.loads(json.dumps(found.to_json(), allow_nan=False))["recall"]["n"] == 5


@pytest.mark.parametrize(
    ("column", "metrics", "used"),
    [
        ("token_f1", "[token_f1,recall@k]", "recall@k"),
        ("latency_p95_ms", "[token_f1,mrr@10]", "mrr@10"),
        ("recall@3", "[mrr@10]", "recall@3"),
        ("token_f1", "[token_f1]", ""),
    ],
)
def test_a_column_of_answers_is_replaced(here: Path, golden: Path, column: str, metrics: str, used: str) -> None:
    (found,) = audited(golden, "index=[dense]", "fusion=single", f"metrics={metrics}", column=column)
    assert found.column == used
    assert (found.to_json()["metric"]["exact"] is None) == (used == "")
    assert found.recall.n == 5


def test_a_removed_stage_is_an_error(here: Path, golden: Path) -> None:
    ready = ran(golden, "index=[dense]", "fusion=single")
    (embed,) = (stage for stage in ready.plan.stages.values() if stage.name == "embed")
    ready.store.remove(embed.entry)
    with pytest.raises(DataError, match=r"(?s)embed HashingEmbedder.*run the sweep again"):
        ann_audit.audit_indexes(ready.plan.trials[0], ready.plan, ready.store, "ndcg@10")
