"""A worse prompt fails the gate: answers are gated like rankings."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.command_line import Verb, verb
from support.gate_experiment import write_gated, write_many
from support.scripted_server import Script, answer, serving

METRICS = "[evidence_cited,citation_recall,abstention,ndcg@10]"
GATE = """\
gate:
  split: all
  metrics: {evidence_cited: 0.05, citation_recall: 0.05, abstention: 0.05, ndcg@10: 0.03}
  bounds: ["failed == 0"]
"""
WORSE = "prompt.instruction='Answer from what you know. Be brief.'"


def obedient(message: str) -> str:
    """The sentence nearest to the question, with its number if the prompt asks for citations."""
    sources = re.findall(r"^\[(\d+)\] (.*(?:\n\n?(?!\[|Question:).*)*)", message, re.MULTILINE)
    question = set(re.findall(r"\w+", message.rsplit("Question:", 1)[-1].lower()))
    candidates = [(number, part) for number, text in sources for part in re.split(r"(?<=\.)\s+", text) if part]
    if not candidates:
        return "I don't know."
    number, best = max(candidates, key=lambda pair: len(question & set(re.findall(r"\w+", pair[1].lower()))))
    return f"{best} [{number}]" if "number of its source" in message else best


@pytest.fixture
def model() -> Iterator[Script]:
    """A model that follows its prompt."""
    with serving(lambda exchange: answer(lambda _: obedient(whole(exchange.asked)))(exchange)) as script:
        yield script


def whole(asked: dict[str, object]) -> str:
    messages = asked["messages"]
    assert isinstance(messages, list)
    return "\n\n".join(message["content"] for message in messages)


@pytest.fixture
def rag(model: Script, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Verb:
    write_many(tmp_path / "golden", 24)
    monkeypatch.chdir(tmp_path)
    fixed = f", generator=openai, generator.base_url={model.url}, generator.model=obedient, 'metrics={METRICS}', k=3"
    axes = '  chunker: ["chunker=fixed chunker.size=600"]\n'
    study = write_gated(tmp_path / "study.yaml", Path("golden"), axes, GATE, fixed)
    study.write_text(study.read_text("utf-8").replace("generator=none, ", ""), "utf-8")
    return verb(capsys, monkeypatch)


def test_a_worse_prompt_fails_and_the_rankings_pass(rag: Verb, model: Script) -> None:
    assert rag("sweep", "study.yaml", "--no-track").code == 0
    assert rag("baseline", "study.yaml").code == 0
    asked = len(model.asked)
    same = rag("gate", "study.yaml", "--json")
    assert (same.code, same.json["verdict"]) == (0, "PASS")
    assert "Computed as a check: 32 of 48 questions, with the same scores." in same.json["sentence"]
    silent = rag("gate", "study.yaml", "store=empty", "--json")
    assert (silent.code, silent.json["verdict"]) == (0, "PASS")
    assert "32 of 48 questions without the answers, whose replies are not in the store, with" in silent.json["sentence"]
    assert len(model.asked) == asked
    said = rag("gate", "study.yaml", WORSE, "--json")
    assert (said.code, said.json["verdict"]) == (1, "FAIL"), said.err
    verdicts = {row["column"]: row["verdict"] for row in said.json["rows"]}
    assert verdicts["evidence_cited"] == verdicts["citation_recall"] == "FAIL"
    assert verdicts["ndcg@10"] == "PASS"
    (row,) = (row for row in said.json["rows"] if row["column"] == "evidence_cited")
    assert row["high"] < 0
    assert max(said.json["losses"], key=said.json["losses"].get) == "found, but answered otherwise"
    assert "found, but ranked lower" not in said.json["losses"]
    assert {change["key"] for change in said.json["changed"]} == {"prompt.instruction"}
    assert len(model.asked) > asked
