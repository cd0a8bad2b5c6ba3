"""Two layers: what is always shown, what fades, and which of two statements holds."""

from typing import Any

import pytest

from rag.components.memories.two_layer import TwoLayerMemory
from rag.core.text import tokens
from rag.core.text.statements import read_statement
from rag.core.types import Query, Recalled, Turn

RULE = "The later holds."


def memory(**parameters: Any) -> TwoLayerMemory:
    return TwoLayerMemory(**({"rule": RULE, "turns": 2, "signals": ["remember"]} | parameters))


def older(question: str, *texts: str, **parameters: Any) -> list[str]:
    """The older messages that are shown of a conversation in which the person alone speaks."""
    history = tuple(Turn("user", text) for text in texts)
    (recalled,) = memory(**parameters).recall([Query("q", question, history)])
    assert recalled.turns == history[-2:]
    rule, *lines = recalled.summary.splitlines()
    assert rule == RULE
    return [line.removeprefix("- user: ") for line in lines]


FILLER = ("fine thanks", "okay good")


def test_the_last_messages_are_always_shown_as_they_were_said() -> None:
    history = tuple(Turn("user", text) for text in ("one", "two", "three"))
    assert memory(least=1.0, whole=1.0).recall([Query("q", "x", history)]) == [Recalled(history[-2:], RULE)]
    assert memory().recall([Query("q", "x", history[:1])]) == [Recalled(history[:1], RULE)]


def test_what_was_said_lately_is_shown_before_what_was_said_long_ago() -> None:
    texts = ("alpha words", "beta words", "gamma words", *FILLER)
    only = {"topic": 0.0, "importance": 0.0, "half_life": 1.0, "least": 0.1}
    # Two messages ago and two hours before the last one: 1/4 as without a time, 1/16 with it.
    said = tuple(Turn("user", text, at, "wish", "a.py") for text, at in (("delta", 0.0), ("words", 7200.0)))
    shown = [memory(**(only | more), turns=1, turn_format="{time} {tag} {source} {text}") for more in ({}, {"hours": 1.0})]
    line = f"{RULE}\n1970-01-01 00:00 wish a.py delta"
    assert [made.recall([Query("q", "x", said)])[0].summary for made in shown] == [line, RULE]
    # Half lives: 5, 4 and 3 messages ago are 1/32, 1/16 and 1/8.
    assert older("x", *texts, **only) == ["gamma words"]
    assert older("x", *texts, **(only | {"least": 0.06})) == ["beta words", "gamma words"]


def test_values_and_signals_make_a_message_important() -> None:
    texts = ("my badge is B-12 at Holm since 2019", "please remember the blue door", "some words here", *FILLER)
    found = older("x", *texts, topic=0, freshness=0, whole=1.0, least=1.0)
    assert found == ["my badge is B-12 at Holm since 2019", "please remember the blue door"]
    assert older("x", *texts, topic=0, freshness=0, whole=1.0, least=1.0, signals=[]) == found[:1]


def test_scores_are_weighted_means() -> None:
    made = memory(topic=2, freshness=1, importance=1, half_life=4)
    turn = Turn("user", "pump oil Holm")
    # Topic 1/3 (of pump, oil, holm), freshness 1/2 after 4 messages, importance 1/3.
    assert made._score(turn, read_statement(turn.text, "english"), frozenset({"pump"}), 4) == pytest.approx(
        (2 / 3 + 1 / 2 + 1 / 3) / 4
    )


def test_a_message_fades_sentence_by_sentence() -> None:
    long = "Cats sleep. The pump P-9 leaks. Dogs bark. Birds sing."
    only = {"freshness": 0, "importance": 0, "least": 0.01}
    assert older("why does pump P-9 leak?", long, *FILLER, **only, whole=0.02) == [long]
    assert older("why does pump P-9 leak?", long, *FILLER, **only, whole=0.9) == ["The pump P-9 leaks."]
    half = older("why does pump P-9 leak?", long, *FILLER, **only, whole=0.6)
    assert half == ["Cats sleep. The pump P-9 leaks."]


def test_older_messages_stay_within_their_tokens_best_first_in_the_order_they_were_said() -> None:
    texts = ("pump one", "cats and dogs and birds", "pump two", *FILLER)
    only = {"freshness": 0, "importance": 0, "least": 0.0}
    line = tokens.count("- user: pump one")
    assert older("pump?", *texts, **only, tokens=2 * line) == ["pump one", "pump two"]
    assert older("pump?", *texts, **only, tokens=line) == ["pump two"]
    assert older("pump?", *texts, **only, tokens=0) == []


EVERYTHING = {"least": 0.0, "whole": 0.0}


@pytest.mark.parametrize(
    ("first", "second", "left"),
    [
        ("The gate code is 4417.", "The gate code is 9021.", ["The gate code is 9021."]),
        ("The gate code is 4417.", "The parking fee is 9 crowns.", ["The gate code is 4417.", "The parking fee is 9 crowns."]),
        (
            "The code of the gate at Holm is 4417.",
            "They gave the gate at Holm another code yesterday, 9021 it is.",
            ["They gave the gate at Holm another code yesterday, 9021 it is."],
        ),
    ],
)
def test_a_newer_statement_with_other_values_replaces_an_older_one(first: str, second: str, left: list[str]) -> None:
    assert older("x", first, second, *FILLER, **EVERYTHING) == left
