"""Shapers: the rules by themselves, and a scripted model with the rules behind it."""

import json
from typing import Any

import pytest
from support.choices import build, built, choices, node
from support.scripted_generator import Scripted, raising

from rag import testing
from rag.core.errors import ServiceError
from rag.core.looks import Shape
from rag.core.roles.looking import Asked, Shaped
from rag.core.types import Framed, Query, Recalled, Reply, Turn

TITLES = ("Annual leave", "Parking", "Hire rates 2024", "Hire rates 2025")


def shaper_of(name: str, generator: Scripted) -> Any:
    given = node("shape", name) | ({"rules": node("shape", "rules")} if name == "model" else {})
    return built({key: value for key, value in given.items() if key != "defaults"}, generator)


def asked(question: str, **more: Any) -> Asked:
    return Asked(Query("q", question), question, titles=TITLES, **more)


def one(shaper: Any, question: str, **more: Any) -> Shaped:
    (shaped,) = shaper.shape([asked(question, **more)])
    return shaped


@pytest.mark.parametrize("name", choices("shape"))
def test_laws(name: str) -> None:
    testing.CHECKS["shape"](shaper_of(name, Scripted(lambda request: Reply("no JSON"))))


@pytest.mark.parametrize(
    ("question", "intent"),
    [
        ("What is a stage board?", "definition"),
        ("What does TPA stand for?", "definition"),
        ("May I bring a dog?", "yes_no"),
        ("What is the difference between a van and a car?", "compare"),
        ("why?", "reason"),
        ("Leave.", ""),
        ("Please summarise the leave policy.", "summary"),
        ("Could you write a Python function for it?", "write"),
    ],
)
def test_the_longest_phrase_gives_the_intent(question: str, intent: str) -> None:
    shape = one(build("shape", "rules"), question).shape
    assert shape.intent == intent
    assert dict(shape.headers).keys() >= ({"format"} if intent else set())


def test_a_title_is_named_by_the_question_or_the_turn_before_it() -> None:
    rules = build("shape", "rules")
    assert one(rules, "Is annual leave paid?").shape.domain == "Annual leave"
    assert one(rules, "What are the hire rates?").shape.domain == "Hire rates", "two titles fit"
    talk = Recalled((Turn("user", "Where is parking?"), Turn("assistant", "Annual leave.")))
    follow_up = one(rules, "How much is it?", recalled=talk)
    assert (follow_up.shape.domain, follow_up.search) == ("Parking", "How much is it? Parking")
    assert one(rules, "How much is parking?").search == "", "the question has the word"


def test_the_audit_takes_the_title_of_most_passages() -> None:
    rules, before = build("shape", "rules"), Shape("lookup", "Parking")
    # Weights 1, 1/2, 1/3: the first title has .55 or .73 of them, and with a share of .8 none has enough.
    found = one(rules, "How much is it?", before=before, sources=("Annual leave", "Parking", "Hire"))
    assert (found.shape.intent, found.shape.domain, found.search) == ("lookup", "Annual leave", "How much is it? Annual leave")
    strict = build("shape", "rules", share=0.8)
    assert one(strict, "How much?", before=before, sources=("Annual leave", "Parking", "Hire")).shape.domain == "Parking"
    assert one(rules, "How much?", before=before, sources=()).shape.domain == "Parking"
    long = one(rules, "How much?", before=before, sources=("x" * 90 + "\n",)).shape.domain
    assert long == "x" * 80


def model(reply: Any) -> tuple[Any, Scripted]:
    text = reply if isinstance(reply, str) else json.dumps(reply)
    generator = Scripted(lambda request: Reply(text, prompt_tokens=9, completion_tokens=1, cost=0.5))
    return shaper_of("model", generator), generator


GOOD = {"intent": "how_to", "domain": "vans", "headers": {"task": "say how\nto book", "role": ""}, "search": "van  booking"}


def test_a_model_describes_a_question_and_sees_the_anchors() -> None:
    shaper, generator = model(GOOD)
    recalled = Recalled((Turn("user", "Hello?"),), "They greeted.")
    shaped = one(shaper, "Book a van", project="The Trust", recalled=recalled)
    assert shaped == Shaped(Shape("how_to", "vans", (("task", "say how to book"),)), "van booking", "", 10, 0.5)
    prompt = generator.requests[0].messages[-1].content
    assert all(part in prompt for part in ("The Trust", "They greeted.\nuser: Hello?", "Question: Book a van", "yes_no"))
    framed = Framed(("<passage>",), "before", "after")
    audited = one(shaper, "Book a van", before=Shape("lookup", "cars"), read=framed)
    assert audited.shape.domain == "vans"
    prompt = generator.requests[1].messages[-1].content
    assert '{"intent": "lookup", "domain": "cars", "headers": {}}' in prompt
    assert "before\n\n<passage>\n\nafter" in prompt


BAD = [
    "no JSON",
    {**GOOD, "intent": "dance"},
    {**GOOD, "headers": {"system": "obey"}},
    {**GOOD, "headers": {"task": "x" * 201}},
    {**GOOD, "domain": "x" * 81},
    {**GOOD, "search": "x" * 301},
]


@pytest.mark.parametrize("reply", BAD)
def test_rules_shape_where_the_model_fails_and_the_audit_changes_nothing(reply: Any) -> None:
    shaper, _ = model(reply)
    shaped = one(shaper, "Is annual leave paid?")
    assert shaped.shape == one(build("shape", "rules"), "Is annual leave paid?").shape
    assert shaped.failure.startswith("the reply ")
    assert (shaped.tokens, len(shaped.failure) < 400) == (10, True)
    before = Shape("lookup", "Parking", (("task", "pay"),))
    audited = one(shaper, "Is annual leave paid?", before=before)
    assert (audited.shape, audited.search) == (before, "")


def test_a_server_that_fails_is_no_error() -> None:
    shaper = shaper_of("model", Scripted(raising(ServiceError("m", "is down", "start it"))))
    assert one(shaper, "Is annual leave paid?").failure == "is down"
