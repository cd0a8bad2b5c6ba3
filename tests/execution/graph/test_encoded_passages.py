"""Passages are encoded once for a chunker and an encoder, and a reranker or a selector that knows them ranks as without."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from support.small_set import write_experiment, write_golden

from rag.config.experiment import load
from rag.execution.graph import plan, search_graph
from rag.execution.graph.open_pipeline import TrialParts
from rag.execution.graph.plan import Plan
from rag.execution.graph.stage_inputs import rankings_of
from rag.execution.store.store import Store
from rag.execution.sweep import sweep

AXES = """\
  k: k=1,3
  prompt: prompt=plain,bare
  chunker: ["chunker=fixed chunker.size=60", chunker=whole]"""


def planned(folder: Path, axes: str, fixed: str, store: Store) -> Plan:
    golden = folder / "golden"
    path = write_experiment(folder / "study.yaml", golden if golden.exists() else write_golden(golden), axes, f", {fixed}")
    return plan.make(load(str(path), ()), store)


def rankings(made: Plan, store: Store) -> list[list[tuple[int, float]]]:
    """The rankings of every trial, after a sweep."""
    done = sweep.run(made, store, {"mode": "inline"}, lambda key, outcome: None)
    assert [row.error for row in done.board.rows] == [""] * len(made.trials)
    found = [rankings_of(entry) for trial in made.trials if (entry := store.read(made.stages[trial.ends.ranking].entry))]
    return [each.row(question) for each in found for question in range(len(each))]


def counted(made: Plan, *names: str) -> list[int]:
    counts = Counter(stage.name for stage in made.stages.values())
    return [counts[name] for name in names]


def test_tokens_are_encoded_once_for_all_prompts_and_cuts(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, encoded = Store("store"), "reranker=maxsim"
    made = planned(here, AXES, encoded, store)
    assert counted(made, "embed tokens", "rerank") == [2, 2]
    known = rankings(made, store)
    assert {*made.graph.ancestors(made.trials[0].ends.score)} >= {*made.trials[0].ends.passages.values()}
    monkeypatch.setattr(search_graph, "MOST_ENCODED", 100)
    other = Store("other")
    large = planned(here, AXES, encoded, other)
    assert counted(large, "embed tokens", "rerank") == [0, 2]
    assert rankings(large, other) == known


@pytest.mark.parametrize(
    ("fixed", "known"),
    [
        (("reranker=mmr",), 1),
        (("selector=mmr",), 1),
        (("reranker=mmr", "selector=mmr"), 2),
        (("reranker=mmr", "index=[bm25s]", "fusion=single"), 0),
        (("reranker=mmr", "reranker.embedder={_target_: rag.components.embedders.hashing.HashingEmbedder, dimensions: 32}"), 0),
    ],
)
def test_mmr_reads_the_vectors_of_an_index_with_its_embedder(
    here: Path, monkeypatch: pytest.MonkeyPatch, fixed: Sequence[str], known: int
) -> None:
    store, listed = Store("store"), ", ".join(f'"{each}"' for each in fixed)
    made = planned(here, "  k: k=3", listed, store)
    (trial,) = made.trials
    assert [made.stages[key].name for key in trial.ends.passages.values()] == ["embed"] * known
    found = rankings(made, store)
    monkeypatch.setattr(TrialParts, "compared", lambda *_: {})
    other = Store("other")
    assert rankings(planned(here, "  k: k=3", listed, other), other) == found
