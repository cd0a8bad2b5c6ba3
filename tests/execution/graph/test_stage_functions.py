"""What a stage measures is what is served: nothing that is timed comes out of a store."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from support.small_set import write_experiment, write_golden

from rag.components.embedders.hashing import HashingEmbedder
from rag.config.experiment import load
from rag.execution.graph import plan
from rag.execution.graph.engine import Runner
from rag.execution.store.store import Store


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
