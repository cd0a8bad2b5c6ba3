"""The JSON Schemas of experiments and golden questions: they know every key, take what is shipped, and refuse mistakes."""

import json
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator
from support.command_line import Verb

from rag.api import schema
from rag.components.loaders.native_questions import ALTERNATIVE, GROUP, QUESTION, TURN
from rag.config.experiment import KEYS

ROOT = Path(__file__).parents[2]
EXPERIMENT = Draft202012Validator(schema.experiment())
QUESTIONS = Draft202012Validator(schema.questions())
GOLD = {"id": "q", "text": "How many?", "evidence": [{"any": [{"doc": "a.md", "quote": "four days"}]}]}


def test_the_schemas_know_every_key_that_the_readers_know() -> None:
    question = schema.questions()["properties"]
    group = question["evidence"]["items"]["properties"]
    assert set(schema.experiment()["properties"]) == set(KEYS)
    assert set(question) == set(QUESTION)
    assert set(question["history"]["items"]["properties"]) == set(TURN)
    assert set(group) == set(GROUP)
    assert set(group["any"]["items"]["properties"]) == set(ALTERNATIVE)


@pytest.mark.parametrize("path", sorted((ROOT / "experiments").glob("*.yaml")), ids=lambda path: path.stem)
def test_every_experiment_is_valid(path: Path) -> None:
    EXPERIMENT.validate(yaml.safe_load(path.read_text("utf-8")))


def test_every_question_of_the_handbook_is_valid() -> None:
    for name in ("questions", "dialogues"):
        for line in (ROOT / "datasets" / "handbook" / f"{name}.jsonl").open(encoding="utf-8"):
            QUESTIONS.validate(json.loads(line))


@pytest.mark.parametrize(
    "change",
    [
        {"question": None},
        {"axis": {}},
        {"gate": {"margin": 0.1}},
        {"gate": {"metrics": {"ndcg@10": 1.5}}},
        {"holdout": -1},
        {"axes": {"k": []}},
    ],
    ids=str,
)
def test_mistakes_in_an_experiment_are_found(change: dict[str, object]) -> None:
    assert EXPERIMENT.is_valid({"question": "Which?"})
    assert not EXPERIMENT.is_valid({"question": "Which?", **change})


@pytest.mark.parametrize(
    "change",
    [
        {"id": ""},
        {"answer": ["four"]},
        {"split": "train"},
        {"evidence": [{"any": []}]},
        {"evidence": [{"any": [{"quote": "x"}]}]},
    ],
    ids=str,
)
def test_mistakes_in_a_question_are_found(change: dict[str, object]) -> None:
    assert QUESTIONS.is_valid(GOLD)
    assert not QUESTIONS.is_valid(GOLD | change)


def test_the_verb_prints_them(rag: Verb) -> None:
    assert rag("schema", "questions").json == schema.questions()
    assert rag("schema").json == schema.experiment()
    wrong = rag("schema", "question")
    assert (wrong.code, "questions" in wrong.err) == (2, True)
