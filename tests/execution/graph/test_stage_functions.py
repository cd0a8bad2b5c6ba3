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


def test_latency_of_a_reranker_with_an_embedder_is_that_of_embedding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, embed = list[Sequence[str]](), HashingEmbedder.embed_documents
    monkeypatch.setattr(HashingEmbedder, "embed_documents", lambda self, texts: (asked.append(texts), embed(self, texts))[1])
    store = Store(str(tmp_path / "store"))
    golden = write_golden(tmp_path / "golden")
    study = write_experiment(tmp_path / "study.yaml", golden, "  reranker: reranker=mmr", ", chunker.size=60, latency=2")
    made = plan.make(load(str(study), ()), store)
    ends = made.trials[0].ends
    runner = Runner(made.graph, made.goldens, store)
    assert runner.run(ends.score).status == "ran"
    stored = store.keys("vectors")
    assert stored, "the reranker's passages must be stored already, else the test shows nothing"
    asked.clear()
    assert ends.latency
    assert runner.run(ends.latency).status == "ran"
    assert store.keys("vectors") == stored
    # Two questions, each asked once before it is timed; questions are embedded one by one.
    assert len([texts for texts in asked if len(texts) > 1]) == 4
