"""Sets that carry no verdict, or one search alone: one question, one cluster, ties, no gold, questions by rules."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.command_line import Verb
from support.gate_experiment import write_gated, write_many
from support.small_set import AXES, write_experiment, write_golden

from rag.api.sweeps import recall
from rag.config.experiment import load
from rag.execution.graph import plan
from rag.execution.store.store import Store
from rag.execution.sweep import holdout, sweep
from rag.execution.sweep.selection.candidates import SAID
from rag.tracking import sweep_runs

pytestmark = pytest.mark.usefixtures("here")

Lines = list[dict[str, Any]]


def study(documents: int, change: Callable[[Lines], Lines] = lambda lines: lines) -> None:
    """A study without splits over some documents, with two questions each, and over those lines that `change` makes of them."""
    path = write_many(Path("../golden"), documents) / "questions.jsonl"
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    kept = change([{key: value for key, value in line.items() if key != "split"} for line in lines])
    path.write_text("".join(f"{json.dumps(line)}\n" for line in kept), "utf-8")
    write_gated(Path("study.yaml"), Path("../golden"), gate="")


def output(rag: Verb, code: int, *arguments: str) -> str:
    """What a verb says on one line, without NaN and tracebacks."""
    found = rag(*arguments)
    assert found.code == code, found
    text = " ".join(f"{found.out} {found.err}".split())
    assert "Traceback" not in text
    assert "nan" not in text.lower().split()
    return text


def test_one_question_is_given_no_verdict(rag: Verb) -> None:
    study(1, lambda lines: lines[:1])
    swept = output(rag, 0, "sweep", "study.yaml", "--no-track")
    assert "First so far: wide" in swept
    least = "30 questions in 20 clusters are the least."
    assert f"Its questions are one cluster, so that nothing can be told apart: {least}" in swept
    assert "Effects: one cluster of questions cannot show what choices do." in swept
    assert "Recommended:" not in swept
    assert "1 clusters" not in swept
    assert "1 questions" not in swept
    kept = output(rag, 0, "baseline", "study.yaml")
    assert "1 question of all. The golden set has no holdout: the gate asks all questions" in kept
    result = output(rag, 3, "gate", "study.yaml", "chunker.size=40")
    assert "INCONCLUSIVE These questions cannot settle it: ndcg@10." in result
    assert "too few questions: 1 question, and 10 clusters are the least." in result
    assert "would settle" not in result
    assert "First so far: wide" in output(rag, 0, "report", "study.yaml")
    trials = [row["trial"] for row in json.loads(Path("reports/study/leaderboard.json").read_text("utf-8"))["trials"]]
    compared = output(rag, 0, "compare", *trials)
    assert "Nothing can be told from a single cluster of questions." in compared
    assert "looked at together" not in compared


@pytest.mark.parametrize(("documents", "counted"), [(19, "38 questions in 19 clusters"), (20, "")])
def test_few_questions_are_given_no_recommendation(rag: Verb, documents: int, counted: str) -> None:
    """Terminal, JSON, report and MLflow read one decision: 30 questions in 20 clusters are enough."""
    study(documents)
    swept = output(rag, 0, "sweep", "study.yaml", "--no-track")
    winner = rag("sweep", "study.yaml", "--no-track", "--json").json["winner"]
    reported = output(rag, 0, "report", "study.yaml")
    page = " ".join(Path("reports/study/index.html").read_text("utf-8").split())
    text = Path("reports/study/report.md").read_text("utf-8")
    done = recall("study.yaml")
    sent = sweep_runs.record(done.sweep, done.store, verdict=done.conclusion.winner)
    tags = [sent.tags, *(trial.tags for trial in sent.trials)]
    assert winner["enough"] == (not counted)
    likely = [part["p_best"] is not None for part in winner["standings"]]
    certain = ["Recommended: wide" in swept, "> recommended" in swept, all(likely), any(likely)]
    certain += ["P(best)" in page, '<p class="take">Take' in page, '"note">recommended' in page, "P(best)" in text]
    certain += [re.search(r"\bTake\b", text) is not None, reported.startswith("Take"), "recommended" in sent.tags]
    certain += [any("verdict.p_best" in each for each in tags), any(each.get("verdict") == "recommended" for each in tags)]
    assert certain == [not counted] * len(certain)
    if counted:
        left_open = f"How it does on other questions cannot be known from {counted}: 30 questions in 20 clusters are the least"
        for said in (swept, page, text, reported, sent.tags["first.why"], winner["why"]):
            assert left_open in said
        assert "First so far: wide" in swept
        assert "First so far: wide" in reported


def test_questions_without_gold_have_no_score(rag: Verb) -> None:
    study(5, lambda lines: [line | {"evidence": [], "kind": "unanswerable"} for line in lines])
    assert "No trial has a value of ndcg@10: nothing is concluded." in output(rag, 0, "sweep", "study.yaml", "--no-track")
    assert "names no winner" in output(rag, 2, "baseline", "study.yaml")


SETTINGS = {"mode": "inline", "workers": 1}


@pytest.mark.parametrize(("by_rules", "competing"), [(1.0, 6), (0.5, 6), (0.25, 18)])
def test_half_of_the_questions_by_rules_leave_one_search(tmp_path: Path, by_rules: float, competing: int) -> None:
    golden = write_golden(tmp_path / "set")
    file = golden / "questions.jsonl"
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    for number, row in enumerate(rows):
        row["provenance"] = {"method": "rule:table" if number < by_rules * len(rows) else "person", "accepted": "me"}
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    store = Store(str(tmp_path / "store"))
    made = plan.make(load(str(write_experiment(tmp_path / "study.yaml", golden, AXES))), store)
    concluded = holdout.reach(sweep.run(made, store, SETTINGS, lambda key, outcome: None), store, SETTINGS, None)
    assert concluded.winner
    admitted = {each.name for each in concluded.winner.standings if each.admitted}
    assert len(admitted) == competing
    apart = competing < 18
    assert all("bm25s+dense" in name for name in admitted) == apart
    assert any(note.startswith(SAID) and "12 trials with others do not" in note for note in concluded.notes) == apart
    assert concluded.effects is None or not (apart and "search=" in concluded.effects.sentence)
