"""Which messages are pleasantries or about the conversation, and the replies to them."""

import json
from functools import cache
from typing import Any

import pytest
from support.choices import node

from rag.components.checks.message_kinds import MessageKinds
from rag.core.errors import ConfigError
from rag.core.files import shipped
from rag.core.types import Query, Turn

HANDBOOK = shipped("datasets") / "handbook"
SAID = (
    Turn("user", "When does the\nferry leave?"),
    Turn("assistant", "At seven. In winter at nine."),
    Turn("user", "Thanks!"),
    Turn("assistant", "You're welcome."),
    Turn("user", "And the bus?"),
)


@cache
def kinds() -> MessageKinds:
    return MessageKinds(**_given())


def _given(**changes: Any) -> dict[str, Any]:
    return {name: each for name, each in node("check", "off_topic")["kinds"].items() if name != "_target_"} | changes


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (HANDBOOK / name).read_text("utf-8").splitlines()]


def test_no_question_of_the_handbook_is_taken_for_another_kind() -> None:
    asked = [row["text"] for name in ("questions.jsonl", "dialogues.jsonl") for row in rows(name)]
    asked += [row["text"] for row in rows("inputs.jsonl") if row["input"] == "question"]
    assert len(asked) > 300
    assert [text for text in asked if kinds().kind(Query("q", text))[0]] == []


@pytest.mark.parametrize(
    "text",
    [
        *("Thanks, and how much leave is there?", "ok but what about part-time staff?", "Tell me more about that."),
        *("What do I say first?", "Do I have to answer questions?", "???", "I'd love an answer"),
        *("I love cycling, is there an allowance", "Evening work", "Helpful contacts", "Bonjour, je cherche les congés"),
        "Nachtarbeit",
    ],
)
def test_what_may_be_a_question_is_left_alone(text: str) -> None:
    assert kinds().kind(Query("q", text, SAID)) == ("", "")


@pytest.mark.parametrize(
    ("text", "begins"),
    [
        *(("THANKS!!", "You're"), ("Ok, who are you then?", "I answer"), ("🎉", "Alright"), ("ta very much", "You're")),
        *(("Merci beaucoup", "You're"), ("Vielen herzlichen Dank!", "You're"), ("Hasta luego", "Goodbye")),
        *(("Great answer, I love it", "Alright"), ("C’est parfait", "Alright"), ("What a great reply", "You're")),
    ],
)
def test_a_pleasantry_gets_the_reply_of_its_group(text: str, begins: str) -> None:
    kind, reply = kinds().kind(Query("q", text))
    assert (kind, reply.startswith(begins)) == ("pleasantry", True)


def test_the_conversation_is_listed_without_pleasantries() -> None:
    listed = "So far you have asked:\n1. When does the ferry leave?\n   At seven.\n2. And the bus?\n   "
    assert kinds().kind(Query("q", "What did I ask first?", SAID)) == ("conversation", listed)
    nothing = "You have not asked anything about these documents yet."
    assert kinds().kind(Query("q", "Please summarise our conversation", SAID[2:4])) == ("conversation", nothing)
    assert MessageKinds().kind(Query("q", "Thanks! What have we discussed?")) == ("", "")


def test_mistakes_in_the_lists_are_named() -> None:
    with pytest.raises(ConfigError, match=r"pleasantries\.0: has words"):
        MessageKinds(**_given(pleasantries=[{"words": "hi"}]))
    with pytest.raises(ConfigError, match=r"conversation: has asks"):
        MessageKinds(**_given(conversation={"asks": "what"}))
