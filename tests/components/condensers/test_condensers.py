"""Condensers, and the checks of what they make."""

import json
from contextlib import nullcontext
from typing import Any

import pytest
from support.choices import build, built, choices, node
from support.scripted_generator import Scripted, raising

from rag import testing
from rag.core.corpus import Corpus
from rag.core.errors import ServiceError
from rag.core.look_checks import check_condensed
from rag.core.looks import Condensed, Item
from rag.core.roles.looking import Condensation, Kept
from rag.core.types import Document, Framed, Query, Reply, Span

TEXTS = (
    "# Leave\n\nYou have 26 days of leave. Leave must be booked on form F-12. The canteen is open.",
    "# Parking\n\n| Place | Price |\n|---|---|\n| Yard | 4 crowns |\n\nAsk Ann Lee. Only staff may park.",
)


def kept(question: str, texts: tuple[str, ...] = TEXTS) -> Kept:
    documents = [Document(f"d{number}", text) for number, text in enumerate(texts)]
    passages = Corpus.of(documents, [Span(one.doc_id, 0, len(one.text)) for one in documents]).chunks(range(len(texts)))
    return Kept(Query("q", question), question, passages, Framed(tuple(f"<{one.text}>" for one in passages), "before"))


def condensed(condenser: Any, question: str) -> Condensation:
    (made,) = condenser.condense([kept(question)])
    return made


@pytest.mark.parametrize("name", choices("condense"))
def test_laws(name: str) -> None:
    testing.CHECKS["condense"](built(node("condense", name), Scripted(lambda request: Reply("no JSON"))))


def test_sentences_are_quoted_with_their_headings_and_sources() -> None:
    made = condensed(build("condense", "extractive", facts=1, floor=0.0), "How many days of leave do dogs have?").condensed
    assert made.facts == (Item("Leave: You have 26 days of leave.", (1,)),)
    assert made.constraints == (Item("Leave: Leave must be booked on form F-12.", (1,)),)
    assert made.open_issues == (Item("No source has: dogs"),)
    row = condensed(build("condense", "extractive"), "What is the price in the yard?").condensed
    assert row.facts == (Item("Parking > Place | Price: Yard | 4 crowns", (2,)),)
    assert row.open_issues == ()


def test_nothing_is_condensed_without_a_common_word() -> None:
    made = condensed(build("condense", "extractive"), "zebra?")
    assert made == Condensation(None, "no sentence shares a word with the question")


def model(reply: Any) -> tuple[Any, Scripted]:
    text = reply if isinstance(reply, str) else json.dumps(reply)
    generator = Scripted(lambda request: Reply(text, prompt_tokens=9, completion_tokens=1))
    return built(node("condense", "model"), generator), generator


def test_a_model_condenses_framed_and_numbered_passages() -> None:
    facts = [{"text": each, "sources": [1]} for each in ("26 days", "One fact")]  # the second is an example of the instruction
    condenser, generator = model({"facts": facts, "open_issues": [{"text": "dogs"}]})
    made = condensed(condenser, "How many days?")
    assert made == Condensation(Condensed((Item("26 days", (1,)),), (), (Item("dogs"),)), "", 10)
    assert f"before\n\n[1] <{TEXTS[0]}>\n\n[2] <{TEXTS[1]}>" in generator.requests[0].messages[-1].content


@pytest.mark.parametrize(
    "reply",
    [
        "no JSON",
        '{"facts": [{"text": "' + "26 days " * 4000,  # an endless reply, cut by the limit of tokens
        {"facts": ["26 days"]},
    ],
)
def test_a_reply_of_another_form_condenses_nothing(reply: Any) -> None:
    made = condensed(model(reply)[0], "How many days?")
    assert made.condensed is None
    assert made.failure.startswith("the reply ")
    assert (made.tokens, len(made.failure) < 300) == (10, True)


def test_a_server_that_fails_condenses_nothing() -> None:
    condenser = built(node("condense", "model"), Scripted(raising(ServiceError("m", "is down", "start it"))))
    assert condensed(condenser, "How many days?") == Condensation(None, "is down")


@pytest.mark.parametrize(
    ("item", "why"),
    [
        (Item("You have twenty-six days.", (1,)), ""),
        (Item("Ask Ann Lee about form F-12.", (1, 2)), ""),
        (Item("Holidays are 26 days.", (1,)), ""),
        (Item("Canada has 26 days.", (1,)), "says 'Canada'"),
        (Item("You have 27 days.", (1,)), "says '27 days'"),
        (Item("Ask Bob.", (2,)), "says 'Bob'"),
        (Item("You have 26 days.", (2,)), "says '26 days'"),
        (Item("Book it on form F-13.", (1,)), "says 'F-13'"),
        (Item("You have days.", (0,)), "cites source 0"),
        (Item("You have days.", (3,)), "cites source 3, and there are 2"),
        (Item("You have days."), "names no source"),
        (Item("  ", (1,)), "0 characters"),
        (Item("x" * 1001, (1,)), "1001 characters"),
    ],
)
def test_values_are_those_of_the_cited_passages(item: Item, why: str) -> None:
    with pytest.raises(ValueError, match=why) if why else nullcontext():
        check_condensed(Condensed((item,)), TEXTS, " Holidays in Canada?")


def test_an_empty_or_endless_context_is_refused() -> None:
    for wrong in (Condensed(), Condensed(open_issues=(Item("dogs"),)), Condensed((Item("days", (1,)),) * 13)):
        with pytest.raises(ValueError, match=r"no fact|at most 12"):
            check_condensed(wrong, TEXTS)
