"""A gate computes a sample of questions, so it detects code that changed without its key."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support.command_line import CommandResult, Verb

from rag.analysis.gate import measure, sample
from rag.config.experiment import load
from rag.execution.graph import executors, stage_functions
from rag.execution.graph.executors import Outcome
from rag.execution.store.store import Entry


def gate(rag: Verb, *arguments: str) -> CommandResult:
    return rag("gate", "study.yaml", *arguments, "--json")


def shifted(rankings: Any) -> Entry:
    """Wrong rankings: the keys, which hash files, do not change."""
    return Entry({"positions": np.maximum(rankings.positions - 1, -1), "scores": rankings.scores})


def broken(rankings: Any) -> Entry:
    raise NameError("name 'np' is not defined")


@pytest.fixture
def empty(rag: Verb, here: Path) -> str:
    return f"store={here / 'empty'}"


def test_code_that_changed_under_the_key_of_the_baseline(rag: Verb, empty: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert gate(rag, empty).code == 0
    monkeypatch.setattr(stage_functions, "entry_of_rankings", shifted)
    for place in (empty, "store=.rag/store"):
        said = gate(rag, place)
        assert (said.code, said.out) == (2, "")
        assert "has scores that today's code does not give, though its key is the same" in said.err
        assert "report that. Then make it again: rag study baseline study" in said.err


def test_code_in_which_every_search_fails_does_not_pass(rag: Verb, empty: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stage_functions, "entry_of_rankings", broken)
    for place in (empty, "store=.rag/store"):
        said = gate(rag, place)
        assert (said.code, said.json["verdict"]) == (70, "FAIL")
        assert said.json["sentence"] == "The candidate did not run: NameError: name 'np' is not defined"
        assert said.json["compared"] == 0
        assert "Traceback" in said.err


def test_stored_scores_of_a_candidate_that_differ_from_its_code(rag: Verb, monkeypatch: pytest.MonkeyPatch) -> None:
    assert gate(rag, "index.bm25s.k1=1.3").code == 0
    monkeypatch.setattr(stage_functions, "entry_of_rankings", shifted)
    said = gate(rag, "index.bm25s.k1=1.3")
    assert said.code == 2
    assert "(index.bm25s.k1=1.3): has scores that today's code does not give" in said.err
    assert "use another store: store=<folder>" in said.err


def test_stages_that_ran_in_this_process_are_not_computed_again(rag: Verb, empty: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sample, "_scores", lambda *given: pytest.fail("computed again"))
    assert gate(rag, "index.bm25s.k1=1.3", empty).json["verdict"] == "PASS"


def test_the_sample_is_the_same_for_the_same_code_and_another_for_other_code(
    rag: Verb, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ready = measure.prepare(load("study.yaml"), (), Path("reports/baselines/study.json")).candidate
    first = sample.chosen(ready)
    assert len(set(first.tolist())) == sample.SIZE
    np.testing.assert_array_equal(first, sample.chosen(ready))
    (here / "code").mkdir()
    (here / "code/__init__.py").write_text("changed = True", "utf-8")
    monkeypatch.setattr(sample.rag, "__file__", str(here / "code/__init__.py"))
    assert first.tolist() != sample.chosen(ready).tolist()


def test_a_spent_budget_is_not_a_failure(rag: Verb, monkeypatch: pytest.MonkeyPatch) -> None:
    class Stopped:
        def run(self, plan: Any, store: Any, listen: Any) -> dict[str, Outcome]:
            key = plan.trials[0].ends.score
            return {key: Outcome(key, "stopped", error="budget.usd: 2 are spent\n  → raise it")}

    monkeypatch.setattr(executors, "executor_of", lambda settings: Stopped())
    said = gate(rag, "index.bm25s.k1=1.3")
    assert (said.code, said.out) == (4, "")
    assert "budget.usd: 2 are spent" in said.err


def test_no_corpus_is_embedded_by_a_server_for_the_sample(rag: Verb) -> None:
    remote = ("index=[dense]", "embedder=openai", "embedder.model=m", "embedder.base_url=http://127.0.0.1:9/v1")
    ready = measure.prepare(load("study.yaml"), remote, Path("reports/baselines/study.json")).candidate
    said, error = sample.computed(SimpleNamespace(candidate=ready, same=True))  # type: ignore[arg-type]
    assert (said, error) == ("No question was computed: the vectors of http://127.0.0.1:9/v1 are not in the store.", "")
