"""Typed replies: one rule that reads them, and one loop that asks again."""

import json
import math
import re
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.scripted_generator import Scripted

from rag.core.assessments import Spent
from rag.core.errors import ServiceError
from rag.core.models.typed_reply import LONGEST, Typed, ask_typed, json_object, typed
from rag.core.types import Message, Query, Reply, Request

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
PROSE = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="{"), max_size=30)
LEAF = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT
VALUE = st.recursive(LEAF, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4), max_leaves=12)
OBJECT = st.dictionaries(TEXT, VALUE, max_size=4)
AROUND = ("{}", "```json\n{}\n```", "Here it is: {}", '<think>Is it {{"a": 1}}, or {{b}}?</think>\n{}', "[{}]")


@given(OBJECT, st.sampled_from(AROUND), PROSE, PROSE, st.booleans())
def test_any_object_is_read_in_any_text(value: dict[str, Any], around: str, before: str, after: str, ascii: bool) -> None:
    reply = around.format(json.dumps(value, ensure_ascii=ascii, indent=1))
    assert json_object(reply) == value
    assert json_object(before + json.dumps(value) + after) == value


@given(OBJECT, OBJECT, PROSE)
def test_of_two_objects_neither_is_read(one: dict[str, Any], other: dict[str, Any], between: str) -> None:
    with pytest.raises(ValueError, match="holds more than one JSON object"):
        json_object(f"{json.dumps(one)}{between}{json.dumps(other)}")


@given(OBJECT, st.data())
def test_a_reply_that_was_cut_is_not_read(value: dict[str, Any], data: st.DataObject) -> None:
    text = json.dumps(value)
    cut = data.draw(st.integers(1, len(text) - 1))
    with pytest.raises(ValueError, match="is not valid JSON"):
        json_object(text[:cut])


@pytest.mark.parametrize(
    ("reply", "wrong"),
    [
        ("", "holds no JSON object"),
        ("[1]", "holds no JSON object"),
        ('{"x": 1,}', "is not valid JSON: Expecting property name enclosed in double quotes: line 1 column 9 (char 8)"),
        ("{'x': 1}", "is not valid JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
        ('{x: 0} On reflection: {"x": 1}', "is not valid JSON: Expecting property name enclosed in double quotes"),
        ('{"x": 1} for {claims}', "holds more than one JSON object"),
        ('{"x": NaN}', "holds NaN"),
        ('{"x": [-Infinity]}', "holds -Infinity"),
        ('{"x": {"y": 1, "y": 2}}', "holds the key 'y' twice"),
        ('{"x": "\\ud800"}', "has an escape \\ud800 to \\udfff that is not part of a pair"),
        ('{"a":' * 9_000, "is nested too deeply"),
        ("{" * (LONGEST + 1), "has 50,001 characters, and 50,000 is the most"),
    ],
)
def test_nothing_is_guessed(reply: str, wrong: str) -> None:
    with pytest.raises(ValueError, match=rf"\A{re.escape(wrong)}"):
        json_object(reply)


@dataclass(frozen=True)
class Form:
    """A form of a reply."""

    name: str
    sizes: tuple[int, ...] = ()


def test_an_object_becomes_a_form_or_the_problem_has_its_place() -> None:
    assert typed('{"name": "a", "sizes": [1, 2]}', Form) == Form("a", (1, 2))
    assert typed({"name": "a"}, Form) == Form("a")
    problems = {
        '{"nam": "a"}': "has 'nam'; there is: name, sizes",
        "{}": "has a wrong name: Field required",
        '{"name": "a", "sizes": [1, "b"]}': "has a wrong sizes.1: Input should be a valid integer, unable to parse string as an"
        " integer",
    }
    for reply, wrong in problems.items():
        with pytest.raises(ValueError, match=rf"\A{re.escape(wrong)}\Z"):
            typed(reply, Form)


def asked_of(*names: str) -> list[Typed[Form]]:
    return [Typed(Request(Query(name, ""), (), (Message("user", name),)), lambda reply: typed(reply, Form)) for name in names]


def test_what_cannot_be_read_is_asked_again() -> None:
    replies = {"good": ['{"name": "a"}'], "late": ["no " * 50, '{"name": "b"}'], "bad": ["no", "never"], "refused": ["", ""]}

    def say(request: Request) -> Reply:
        text = replies[request.query.query_id].pop(0)
        return Reply(text, (), 3, 1, 0.5, "" if text else "is too long")

    model = Scripted(say)
    found = ask_typed(model, asked_of(*replies), 2, "It {problem}!", 10)
    assert [each.value for each in found] == [Form("a"), Form("b"), None, None]
    assert [each.wrong for each in found] == ["", "", "the reply holds no JSON object", "is too long"]
    assert [each.quoted for each in found][2:] == ["the reply holds no JSON object: 'never'", "is too long"]
    assert [each.spent for each in found] == [Spent(4, 0.5), Spent(8, 1.0), Spent(8, 1.0), Spent(0, 0.0)]
    assert [request.query.query_id for request in model.requests] == [*replies, "late", "bad"]
    assert [message.content for message in model.requests[4].messages] == ["late", "no no no n", "It holds no J!"]
    replies["bad"] = ["no", "never"]
    ask_typed(model, asked_of("bad"), 2, "It {problem}!", 0)
    assert [message.content for message in model.requests.pop().messages] == ["bad\n\nIt holds no JSON object!"]
    assert ask_typed(model, []) == []
    assert len(model.requests) == 7


def test_a_failed_request_is_a_reason_or_ends_the_batch() -> None:
    def say(request: Request) -> Reply:
        if len(request.messages) > 1 or request.query.query_id == "down":
            raise ServiceError("here", "cannot be reached", "start it")
        return Reply("no", cost=math.nan)

    first, down = ask_typed(Scripted(say), asked_of("invalid", "down"), 2)
    assert (first.wrong, down.wrong) == ("the reply holds no JSON object", "cannot be reached")
    with pytest.raises(ServiceError):
        ask_typed(Scripted(say), asked_of("down"), falls_back=False)
