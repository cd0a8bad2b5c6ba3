"""Baselines that were edited, merged or forged are refused."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.command_line import CommandResult, Verb
from support.gate_experiment import forge

from rag.analysis import baseline
from rag.analysis.gate import measure
from rag.config.experiment import load
from rag.core.errors import DataError

KEPT = Path("reports/baselines/study.json")
WORSE = "chunker.size=40"
"""A change that is significantly worse."""
Content = dict[str, Any]


def gate(rag: Verb, *arguments: str) -> CommandResult:
    return rag("gate", "study.yaml", *arguments, "--json")


def refused(said: CommandResult) -> str:
    """The error of a gate that refuses a baseline."""
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith(f"{KEPT}: ")
    assert "rag study baseline study" in said.err
    return said.err


def zero(content: Content) -> None:
    for line in content["questions"].values():
        line["scores"] = dict.fromkeys(line["scores"], 0.0)


def thin(content: Content) -> None:
    for name in sorted(content["questions"])[:57]:
        del content["questions"][name]


def add(content: Content) -> None:
    content["questions"]["long-999"] = content["questions"]["long-001"]


HEADER = {
    "choices": lambda content: content["choices"].update(chunker="narrow"),
    "score": lambda content: content.update(score="0" * 64),
    "scores zeroed": zero,
    "questions deleted": thin,
    "question added": add,
    "no digest": lambda content: content.pop("digest"),
}


@pytest.mark.parametrize("change", HEADER.values(), ids=HEADER.keys())
def test_an_edited_line_is_detected(swept: Path, tmp_path: Path, change: Callable[[Content], object]) -> None:
    path, content = tmp_path / "study.json", json.loads((swept / "here" / KEPT).read_text("utf-8"))
    path.write_text(json.dumps(content, sort_keys=True), "utf-8")
    assert baseline.load(path).experiment == "study", "space and the order of keys are not an edit"
    change(content)
    path.write_text(json.dumps(content, indent=1), "utf-8")
    with pytest.raises(DataError, match=r"was edited, or merged|has no digest") as caught:
        baseline.load(path)
    assert caught.value.remedy == "take it from git, or make it: rag study baseline study"


@pytest.mark.parametrize("text", ["[" * 100_000, '{"config": ' + "[" * 900 + "]" * 900 + "}"])
def test_deeply_nested_brackets_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "study.json").write_text(text, "utf-8")
    with pytest.raises(DataError, match="is not a valid baseline"):
        baseline.load(tmp_path / "study.json")


# The same edits with a new digest


def test_a_forged_key_of_a_worse_candidate(rag: Verb) -> None:
    assert gate(rag, WORSE).code == 1
    key = measure.prepare(load("study.yaml"), [WORSE], KEPT).candidate.trial.ends.score
    forge(KEPT, lambda content: content.update(score=key))
    error = refused(gate(rag, WORSE))
    assert "contradicts the scores in the store under its key" in error
    assert re.search(r"\d+ of 96 questions differ, the first is 'short-001': \S+ 1\.000 → \.", error)
    shutil.rmtree(".rag")
    error = refused(gate(rag, WORSE))
    assert "has scores that today's code does not give, though its key is the same" in error
    assert re.search(r"\d+ of 32 questions differ", error)


@pytest.mark.parametrize(
    ("change", "said"), [(thin, "of the same golden set: 57 only there"), (add, "1 only here (the first: 'long-999')")]
)
def test_forged_questions(rag: Verb, change: Callable[[Content], object], said: str) -> None:
    shutil.copy(KEPT, "honest.json")
    forge(KEPT, change)
    error = refused(gate(rag, WORSE))
    assert f"has {len(json.loads(KEPT.read_text('utf-8'))['questions'])} questions, and trial" in error
    assert said in error
    assert said in rag("compare", str(KEPT), "honest.json").err


def test_a_forged_key_of_a_stage_without_scores(rag: Verb) -> None:
    entries = Path(".rag/store/stages").rglob("*")
    others = [path.name for path in entries if path.is_file() and path.name != json.loads(KEPT.read_text("utf-8"))["score"]]
    for key in others[:2]:
        forge(KEPT, lambda content, key=key: content.update(score=key))
        assert "contradicts the scores in the store" in refused(gate(rag))


@pytest.mark.parametrize("key", ["../../../here/study.yaml", "", "f" * 63])
def test_a_forged_key_reaches_no_file(rag: Verb, key: str) -> None:
    kept = Path(".rag/store/stages/../../../st/study.yaml")
    kept.parent.mkdir(parents=True)
    kept.write_text("mine", "utf-8")
    forge(KEPT, lambda content: content.update(score=key.replace("here/", "")))
    assert "which is not a SHA-256" in refused(gate(rag))
    assert kept.read_text("utf-8") == "mine"


# What the report says about changes and counts


def test_a_change_that_affects_no_score_is_listed(rag: Verb) -> None:
    said = gate(rag, "prompt.style_or_tone=brief")
    assert (said.code, said.json["sentence"].split(".")[0]) == (0, "Nothing that a score depends on differs from the baseline")
    assert said.json["changed"] == [{"key": "prompt.style_or_tone", "baseline": "", "candidate": "brief"}]
    assert "prompt.style_or_tone:  → brief" in rag("gate", "study.yaml", "prompt.style_or_tone=brief").out


# A pull request and its own baseline


def test_a_baseline_is_compared_with_the_one_that_it_replaces(rag: Verb) -> None:
    def replaced(*given: str) -> str:
        return str(gate(rag, *given).json["replaced"])

    assert replaced("--previous", "none.json") == "This change adds its own baseline: the branch that it goes to has none."
    before = Path("before.json")
    before.write_bytes(KEPT.read_bytes())
    assert replaced("--previous", "before.json") == ""
    forge(before, lambda content: [line["scores"].update({"ndcg@10": 1.0}) for line in content["questions"].values()])
    sentence = r"This change replaces its own baseline: questions 96 → 96, ndcg@10 1\.000 → \.?0?\.\d+, recall@5 .*\."
    assert re.fullmatch(sentence, replaced("--previous", "before.json"))
    before.write_text("[", "utf-8")
    assert "the one before it is not a valid baseline" in replaced("--previous", "before.json")
