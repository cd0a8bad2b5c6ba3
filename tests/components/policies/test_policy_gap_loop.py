"""Gap loops: what they search for, by rules and with scripted models, and how a failing model ends them."""

import json
from typing import Any

import pytest
from support.choices import built, node
from support.policy_tools import WordTools
from support.scripted_generator import Scripted, raising

from rag.components.policies.gap_loop import names
from rag.core.errors import ServiceError
from rag.core.roles.looking import Looked
from rag.core.text.stems import Stems
from rag.core.types import Reply

TEXTS = (
    "Counterparts is an album by Rush.",
    "Rush Trio, drums by Neil Peart.",
    "Neil Peart Born in Hamilton.",
    "The lighthouse is white.",
)
QUESTION = "Where was the drummer of the band that made Counterparts born?"


def rules(question: str = QUESTION, **changes: Any) -> tuple[Looked, WordTools]:
    tools = WordTools(question, TEXTS)
    return built(node("policy", "gap_loop_rules", **changes)).look(tools.asked(), tools), tools


def model(reply: Any, question: str = QUESTION, **changes: Any) -> tuple[Looked, WordTools, Scripted]:
    generator = Scripted(reply)
    tools = WordTools(question, TEXTS)
    return built(node("policy", "gap_loop", **changes), generator).look(tools.asked(), tools), tools, generator


def says(*replies: Any) -> Any:
    rows = iter(replies)

    def reply(request: Any) -> Reply:
        text = next(rows)
        return Reply(text if isinstance(text, str) else json.dumps({"queries": text}), prompt_tokens=9, completion_tokens=1)

    return reply


def test_names_of_passages_are_followed() -> None:
    found, tools = rules(passages=1)
    assert tools.searched == [(QUESTION,), (f"Rush {QUESTION}", "Rush drummer band made born")]
    assert [step.act for step in found.steps] == ["search", "gap", "search"]
    found, tools = rules(passages=2, rounds=2)
    assert any(texts[0].startswith("Neil Peart ") for texts in tools.searched)
    assert {place for place, _ in found.ranking.row(0)} >= {0, 1, 2}


def test_nothing_is_missing_where_a_passage_has_all_words() -> None:
    found, tools = rules("Which album by Rush is Counterparts?")
    assert tools.searched == [("Which album by Rush is Counterparts?",)]
    assert found.steps[-1].observed == "nothing is missing"


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        (
            "Which opera has more acts, Parsifal or Manon?",
            ["Which opera has more acts, Parsifal ?", "Which opera has more acts, Manon?"],
        ),
        ("Were both Ann Lee and Bob Ray born in Leeds?", 3),
        ("When does the ferry leave and what does a ticket cost?", ["When does the ferry leave", "what does a ticket cost"]),
        ("Is the Humber Bridge open, and when was it built?", ["Is the Humber Bridge open", "when was it built Humber Bridge"]),
        ("Who paints the lighthouse?", []),
    ],
)
def test_comparisons_and_double_questions_are_taken_apart(question: str, parts: Any) -> None:
    _, tools = rules(question, gaps=False)
    searched = [texts[0] for texts in tools.searched[1:]]
    assert (len(searched) == parts) if isinstance(parts, int) else (searched == parts)
    assert len(searched) <= 3


def test_parts_and_gaps_are_switched_off_alone() -> None:
    question = "Which opera has more acts, Parsifal or Counterparts?"
    kinds = {(parts, gaps): [step.act for step in rules(question, decompose=parts, gaps=gaps)[0].steps]
             for parts in (True, False) for gaps in (True, False)}  # fmt: skip
    assert "decompose" in kinds[True, False]
    assert "gap" not in kinds[True, False]
    assert "decompose" not in kinds[False, True]
    assert "gap" in kinds[False, True]
    assert kinds[False, False] == ["search"]


def test_the_first_hits_of_every_search_come_first() -> None:
    found, tools = rules(passages=1)
    first = {tools.search(texts).row(0)[0][0] for texts in tools.searched[:2]}
    assert {place for place, _ in found.ranking.row(0)[: len(first)]} == first


def test_a_model_names_parts_and_gaps_within_their_numbers() -> None:
    found, tools, generator = model(
        says(["part one", "part two", "part three", "part four"], ["gap one", "gap two", "gap three"])
    )
    assert [texts[0] for texts in tools.searched] == [QUESTION, "part one", "part two", "part three", "gap one", "gap two"]
    assert [step.tokens for step in found.steps if step.act in ("decompose", "gap")] == [10, 10]
    assert "<Counterparts is an album by Rush.>" in generator.requests[1].messages[1].content
    assert "part three" in generator.requests[1].messages[1].content
    assert len(generator.requests) == 2


def test_a_model_that_repeats_itself_or_misses_nothing_ends_the_loop() -> None:
    again = QUESTION.upper().replace("?", "")
    found, tools, generator = model(says([again], [again], ["x y z"]), rounds=5)
    assert (len(tools.searched), len(generator.requests)) == (1, 2)
    found, tools, generator = model(says([], []), rounds=5)
    assert found.steps[-1].observed == "nothing is missing"
    assert len(generator.requests) == 2


@pytest.mark.parametrize(
    "reply",
    ["{}", '{"queries": [1]}', '{"questions": []}', '{"queries": ["first question"]}', '{"queries": ["' + "a" * 301 + '"]}'],
)
def test_a_reply_of_another_form_ends_the_loop_with_what_was_found(reply: str) -> None:
    found, _, generator = model(says(reply, ["never asked"]), rounds=5)
    assert len(generator.requests) == 1
    assert found.steps[-1].failure
    assert found.ranking.row(0)


def test_a_server_that_fails_ends_the_loop_and_is_named() -> None:
    found, _, generator = model(raising(ServiceError("generator", "no answer within 1 s", "wait")), rounds=5)
    assert len(generator.requests) == 1
    assert found.failed == found.steps[-1].failure == "no answer within 1 s"


def test_tokens_limit_the_requests() -> None:
    found, _, generator = model(says(["part one"], ["gap one"]), tokens=1)
    assert generator.requests == []
    assert "does not fit into 1 tokens" in found.steps[-1].failure


def test_names_are_runs_of_capitals_without_light_words() -> None:
    text = "The University of Leeds met C. S. Forester, and In 1990 he left. A note of C3PO"
    assert names(text, {"of"}, Stems().light) == ["University of Leeds", "C. S. Forester", "C3PO"]
