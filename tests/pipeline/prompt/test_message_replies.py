"""Replies to messages that are no question: without a search, no part of the history, the same in sweeps and conversations."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from support.command_line import verb
from support.small_set import write_golden

from rag.components.loaders.native_questions import NativeQuestions
from rag.core.errors import UserError
from rag.core.text.final_answer import concluded
from rag.core.types import Message, Query, Reply, Request, Turn
from rag.execution.sweep.open_config import config_of, open_config
from rag.pipeline.conversation.session import Session

OVERRIDES = ("dataset=native", "dataset.path=golden", "embedder=hashing", "index=[bm25s]", "fusion=single", "k=2")
FERRY = "When does the ferry to Holm leave?"
STUDY = """\
question: Is a message taken for what it is?
dataset: native
split: all
controls: false
fixed: [dataset.path=golden, embedder=hashing, "index=[bm25s]", fusion=single, latency=0,
        "metrics=[input_kind,abstention,recall@5]"]
axes:
  k: k=2
objective: maximize input_kind
"""


def session(*overrides: str) -> Session:
    return Session(open_config(config_of([*OVERRIDES, *overrides])))


def test_nothing_is_searched_for_and_a_pleasantry_leaves_no_turn(here: Path) -> None:
    write_golden(here / "golden")
    talk = session("queries=carry_over")
    first, thanks, listed = (talk.ask(text) for text in (FERRY, "Thanks!", "What have we discussed?"))
    assert first.answer.input == "question"
    assert first.answer.contexts
    for exchange, kind in ((thanks, "pleasantry"), (listed, "conversation")):
        answer = exchange.answer
        assert (answer.input, answer.abstained, answer.contexts, answer.left_out) == (kind, True, (), ())
        assert not exchange.trace.indexes
    lines = ["So far you have asked:", f"1. {FERRY}", "   The ferry to Holm leaves at seven."]
    assert listed.answer.reply.text.splitlines() == lines
    assert [turn.text for turn in talk.history if turn.role == "user"] == [FERRY, "What have we discussed?"]
    heard: list[str] = []
    assert "ferry" in talk.ask("And what does it cost?", heard.append).trace.sought.texts[0].lower()
    assert talk.ask("hi", heard.append).answer.reply.text == heard[-1]


def test_a_check_that_flags_names_the_kind_and_replies_nothing(here: Path) -> None:
    write_golden(here / "golden")
    answer = session("check.off_topic.on_failure=flag").ask("Thanks!").answer
    assert (answer.input, [one.action for one in answer.findings]) == ("pleasantry", ["flag"])
    assert "welcome" not in answer.reply.text


class Study:
    """A model that names the kind of the message, as grounded_study asks it to."""

    costly = True

    def __init__(self) -> None:
        self.asked: list[tuple[Message, ...]] = []

    def generate(self, requests: list[Request]) -> list[Reply]:
        return [Reply("".join(self.stream(request))) for request in requests]

    def stream(self, request: Request) -> Iterator[str]:
        self.asked.append(request.messages)
        yield "**Kind:** Off-Topic\nNo: **Kind:** matters.\n**Kind: conversation**\n"
        yield "Final answer: you asked about the ferry."


def test_the_kind_that_a_model_names_is_recorded(here: Path) -> None:
    write_golden(here / "golden")
    talk, model = session("prompt=grounded_study"), Study()
    talk.pipeline = replace(talk.pipeline, generator=model)
    answer = talk.ask(FERRY).answer
    assert (answer.reply.text, answer.input) == ("you asked about the ferry.", "conversation")
    # What a model says of the message switches no check off, and its text alone says whether it declines.
    assert not answer.abstained
    assert talk.ask("Thanks!").answer.input == "pleasantry"
    assert len(model.asked) == 1
    named = talk.pipeline.reading.prompt.inputs  # type: ignore[attr-defined]
    (cut,), (found,) = concluded([Reply("Kind: question\nFinal answer: six")], "Final answer:", named)
    assert (cut.text, found) == ("six", [])


def test_a_golden_message_that_is_no_question_has_no_evidence(tmp_path: Path) -> None:
    gold = {"id": "a", "text": "Thanks!", "input": "pleasantry", "evidence": [{"any": [{"doc": "ferry.md"}]}]}
    for row, problem in ((gold, "there is evidence"), ({"id": "a", "text": "x", "input": "hello"}, "'input' is 'hello'")):
        (tmp_path / "questions.jsonl").write_text(json.dumps(row), "utf-8")
        with pytest.raises(UserError, match=problem):
            list(NativeQuestions(str(tmp_path)).read({}))


@pytest.mark.system
def test_a_sweep_measures_what_a_conversation_answers(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    history = [{"role": "user", "text": FERRY}, {"role": "assistant", "text": "At seven."}]
    rows = [
        {"text": FERRY, "input": "question", "evidence": [{"any": [{"doc": "ferry.md"}]}]},
        {"text": "Thanks!", "input": "pleasantry"},
        {"text": "What have we discussed?", "input": "conversation", "history": history},
        {"text": "???", "input": "off_topic"},
        {"text": "Ta-ta!", "input": "pleasantry"},
    ]
    golden = write_golden(here / "golden")
    lines = (json.dumps({"id": f"q{number}", "kind": row["input"]} | row) for number, row in enumerate(rows))
    (golden / "questions.jsonl").write_text("\n".join(lines), "utf-8")
    Path("study.yaml").write_text(STUDY, "utf-8")
    run = verb(capsys, monkeypatch)
    (trial,) = run("sweep", "study.yaml", "--no-track", "--json").json["trials"]
    found = {name: (column["mean"], column["n"]) for name, column in trial["metrics"].items()}
    # Rankings are measured by the question alone; friendly replies count neither for nor against abstention.
    assert found == {"input_kind": (0.8, 5), "abstention": (1.0, 2), "recall@5": (1.0, 1)}
    told = run("why", f"trial={trial['trial']}", "--json").json["trials"][0]["inputs"]
    assert told["pleasantry"] == {"question": 1, "pleasantry": 1, "conversation": 0, "off_topic": 0}
    pipeline = open_config(config_of([*OVERRIDES, "k=2"]))
    turns = tuple(Turn(turn["role"], turn["text"]) for turn in history)  # type: ignore[arg-type]
    shown = run("why", "q2", f"trial={trial['trial']}").out
    assert "taken for conversation" in shown
    assert pipeline.answer(Query("q", "What have we discussed?", turns)).reply.text.split()[-1] in shown
