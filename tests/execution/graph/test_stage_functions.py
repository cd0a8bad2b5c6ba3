"""What a stage measures is what is served: nothing that is timed comes out of a store."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from support.small_set import write_experiment, write_golden

from rag.components.embedders.hashing import HashingEmbedder
from rag.config.experiment import load
from rag.core.types import Query
from rag.execution.graph import plan
from rag.execution.graph.engine import Runner
from rag.execution.store.store import Store
from rag.execution.sweep.open_config import config_of, open_config


def test_latency_is_that_of_embedding_each_question(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, embed = list[Sequence[str]](), HashingEmbedder.embed_queries
    monkeypatch.setattr(HashingEmbedder, "embed_queries", lambda self, texts: (asked.append(texts), embed(self, texts))[1])
    store = Store(str(tmp_path / "store"))
    golden = write_golden(tmp_path / "golden")
    study = write_experiment(tmp_path / "study.yaml", golden, "  reranker: reranker=mmr", ", chunker.size=60, latency=2")
    made = plan.make(load(str(study), ()), store)
    ends = made.trials[0].ends
    runner = Runner(made.graph, made.goldens, store)
    assert runner.run(ends.score).status == "ran"
    stored = store.keys("vectors")
    assert stored, "questions must be stored already, else the test shows nothing"
    asked.clear()
    assert ends.latency
    assert runner.run(ends.latency).status == "ran"
    assert store.keys("vectors") == stored
    # Two questions, each asked once before it is timed, for the index and for the reranker; passages come with the index.
    assert [len(texts) for texts in asked] == [1] * 8


OVERRIDES = ("dataset=native", "embedder=hashing", "chunker.size=60", "reranker=mmr", "index=[dense]", "fusion=single")


def test_what_is_asked_leaves_no_trace_in_the_store(here: Path) -> None:
    golden = write_golden(here / "golden")
    config = config_of([*OVERRIDES, f"dataset.path={golden}", f"loader.path={golden / 'documents'}", "store=store"])
    pipeline = open_config(config)
    store = Store("store")
    before = {space: store.keys(space) for space in ("stages", "vectors", "pairs", "replies")}
    assert before["vectors"]
    answer = pipeline.answer(Query("typed", "Which animal may go to Holm for nothing?"))
    assert answer.contexts
    assert {space: store.keys(space) for space in before} == before
