"""Rewriting with a model, by a person, and without any: requests, and texts from replies."""

from functools import partial
from typing import Any

import pytest
from support.scripted_generator import Scripted

from rag.components.queries.human import HumanRewrite
from rag.components.queries.hyde import HypotheticalPassage
from rag.components.queries.several import ModelQuestions
from rag.components.queries.turns import TypedTurns
from rag.core.types import Message, Query, Reply, Sought, Turn

Rewrite = partial(ModelQuestions, most=1, first=False)
PROMPT = "{history}\nLast: {question}\nNew:"
HISTORY = (Turn("user", "Who built the {question} bridge?"), Turn("assistant", "A  firm\nof builders."))
QUERY = Query("q", "when was {history} it built?", HISTORY)


def says(text: str) -> Scripted:
    return Scripted(lambda request: Reply(text, (), 10, 4, 0.25))


def rewritten(text: str, **parameters: Any) -> tuple[str, ...]:
    return Rewrite(says(text), "", PROMPT, **parameters).rewrite([QUERY])[0].texts


def test_the_model_sees_the_end_of_the_conversation_and_braces_stay_text() -> None:
    model = says("When was the bridge built?")
    Rewrite(model, "Rewrite.", PROMPT, turn_format="<{role}> {text}", turn_chars=8).rewrite([QUERY])
    (request,) = model.requests
    told = "<user> Who buil\n<assistant> A firm o\nLast: when was {history} it built?\nNew:"
    assert request.messages == (Message("system", "Rewrite."), Message("user", told))
    assert request.contexts == ()


def test_only_the_last_turns_are_shown() -> None:
    model = says("When was the bridge built?")
    Rewrite(model, "", PROMPT, turns=1).rewrite([QUERY])
    assert "Who built" not in model.requests[0].messages[0].content
    assert len(model.requests[0].messages) == 1


def test_the_first_question_of_a_conversation_is_never_sent() -> None:
    model = says("Something else")
    first, later = Rewrite(model, "", PROMPT).rewrite([Query("a", "Who built it?"), QUERY])
    assert (first.texts, first.tokens) == (("Who built it?",), 0)
    assert (later.texts, later.tokens, later.cost) == (("Something else",), 14, 0.25)
    assert [request.query for request in model.requests] == [QUERY]


@pytest.mark.parametrize(
    ("reply", "line"),
    [
        ("When was the bridge built?", "When was the bridge built?"),
        ("\n\n  New: When was it?\nBecause it leans.", "When was it?"),
        ('"When was it built?"', "When was it built?"),
        ("```\nWhen was it built?\n```", "When was it built?"),
        ("1. When was it built?", "When was it built?"),
        ("2026 budget of the bridge", "2026 budget of the bridge"),
    ],
)
def test_a_reply_is_cleaned_of_what_is_no_question(reply: str, line: str) -> None:
    assert rewritten(reply, label="New:") == (line,)


EXAMPLES = "Question: How do I renew a permit?\nSearch questions:\nWhere are permits renewed?\n\nQuestion: {question}"


@pytest.mark.parametrize(
    "reply",
    [
        *("In 1981.", "It was built in 1981!", "A firm of builders", "- Where are permits renewed?"),
        *("How do I renew a permit?", "Search questions:"),
    ],
    ids=["stated", "exclaimed", "answered before", "example", "question of the example", "label"],
)
def test_what_a_small_model_says_instead_is_not_searched_for(reply: str) -> None:
    said = (Turn("user", "Who built it?"), Turn("assistant", "A firm of builders"))
    query = Query("q", "When was it built?", said)
    for label in ("Question:", ""):
        made = ModelQuestions(says(f"{reply}\nWhen was the bridge built?"), "", EXAMPLES.replace("Question:", label), label)
        assert made.rewrite([query])[0].texts == ("When was the bridge built?",)
    (alone,) = Rewrite(says(reply), "", EXAMPLES, "Question:").rewrite([query])
    assert alone.texts == (query.text,)
    assert "of no use" in alone.note


@pytest.mark.parametrize("text", ["Where are permits renewed?", "tell me more about permits", "Permits, at once!"])
def test_a_question_that_is_repeated_or_states_something_itself_is_searched_for(text: str) -> None:
    reply = text if text.endswith("?") else "Renewal of permits, in detail."
    (found,) = ModelQuestions(says(reply), "", EXAMPLES, "Question:").rewrite([Query("q", text, HISTORY)])
    assert (found.texts, found.note) == ((reply,), "")


def test_several_questions_are_searched_for_each_once() -> None:
    model = says("- How long is A?\n- How long is A?\n* How long is B?\nx\n4) Fourth?\n5) Fifth?")
    (found,) = ModelQuestions(model, "", PROMPT).rewrite([Query("q", "Is A longer than B?")])
    assert found.texts == ("How long is A?", "How long is B?", "Fourth?")
    assert found.question == "Is A longer than B?"
    (follow_up,) = ModelQuestions(says("How long is A?\nHow long is B?"), "", PROMPT, include_original=True).rewrite([QUERY])
    assert follow_up.texts == (QUERY.text, "How long is A?", "How long is B?")
    assert follow_up.question == "How long is A? How long is B?"


def test_an_invented_passage_is_searched_for_and_never_reranked_by() -> None:
    (found,) = HypotheticalPassage(says("It was built\nin 1981 by\n builders."), "", PROMPT, longest=20).rewrite([QUERY])
    assert found.texts == (QUERY.text, "It was built in 1981")
    assert found.question == QUERY.text
    (alone,) = HypotheticalPassage(says("It was built."), "", PROMPT, include_original=False).rewrite([QUERY])
    assert alone.texts == ("It was built.",)


TURNS = (Turn("user", "One?"), Turn("assistant", "1."), Turn("user", "Two?"), Turn("assistant", "2."))
THIRD = Query("q", "Three?", TURNS, "All three?")


@pytest.mark.parametrize(
    ("turns", "text"), [(1, "Three?"), (2, "Two?\nThree?"), (None, "One?\nTwo?\nThree?"), (9, "One?\nTwo?\nThree?")]
)
def test_the_last_questions_of_the_person_are_searched_for_and_no_answer(turns: int | None, text: str) -> None:
    assert TypedTurns(turns).rewrite([THIRD]) == [Sought(text, (text,))]


def test_the_rewrite_of_a_person_is_searched_for_where_there_is_one() -> None:
    assert HumanRewrite().rewrite([THIRD]) == [Sought("All three?", ("All three?",))]
    assert HumanRewrite().rewrite([Query("q", "One?")]) == [Sought("One?", ("One?",))]
    (without,) = HumanRewrite().rewrite([Query("q", "Two?", TURNS)])
    assert (without.texts, without.note) == (("Two?",), "the golden set has no rewrite")
