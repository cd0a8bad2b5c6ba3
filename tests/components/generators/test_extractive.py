"""The extractive generator: which sentence wins, and which edition is quoted."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.choices import node

from rag.components.generators.extractive import ExtractiveGenerator
from rag.core.corpus import Corpus
from rag.core.text.citations import cited_sentences
from rag.core.types import Document, Query, Reply, Request, Span, Turn

SHIPPED = {name: value for name, value in node("generator", "extractive").items() if name != "_target_"}


def ask(question: str, *texts: str, section: str = "") -> Request:
    under = f"# {section}\n" if section else ""
    documents = [Document(f"d{number}", under + text) for number, text in enumerate(texts)]
    corpus = Corpus.of(documents, [Span(one.doc_id, len(under), len(one.text)) for one in documents if one.text != under])
    chunks = corpus.chunks(range(len(corpus)))
    return Request(Query("q", question), chunks, ())


def answer(question: str, *texts: str, **parameters: float) -> Reply:
    (reply,) = ExtractiveGenerator(**SHIPPED | {"floor": 0.0} | parameters).generate([ask(question, *texts)])
    return reply


def test_the_sentence_with_the_evidence_is_quoted_and_cited() -> None:
    reply = answer("How much is the laptop allowance?", "Phones are lent. They stay ours.", "The laptop allowance is 900.")
    assert reply == Reply("The laptop allowance is 900. [2]", (2,))
    assert (reply.prompt_tokens, reply.completion_tokens, reply.cost) == (0, 0, 0.0)


@pytest.mark.parametrize(
    ("question", "texts", "text"),
    [
        ("May we claim a kayak?", ("We claim trips.", "We ask for a kayak.", "We claim meals."), "We ask for a kayak. [2]"),
        ("Which claims is F-12 for?", ("F-11 is for trips.", "F-12 is for leave."), "F-12 is for leave. [2]"),
        ("Which policies applied?", ("The policy applies.", "Nothing here."), "The policy applies. [1]"),
        ("Who feeds otters?", ("Ann feeds otters.", "Bob feeds otters."), "Ann feeds otters. [1]"),
    ],
    ids=["rare words", "exact ids", "stems", "equal evidence"],
)
def test_the_sentence_with_the_most_evidence_is_quoted(question: str, texts: tuple[str, ...], text: str) -> None:
    assert answer(question, *texts, sentences=1).text == text


def test_quotes_keep_their_order_without_repetitions() -> None:
    reply = answer("red kites and blue kites", "Blue kites fly. Blue kites fly.", "Red kites and blue kites fly.", share=0.0)
    assert reply.text == "Blue kites fly. [1] Red kites and blue kites fly. [2]"
    assert reply.citations == (1, 2)


def test_headings_are_weaker_evidence_but_evidence() -> None:
    request = ask("What is the mileage rate?", "It is 45 pence.", section="Mileage rate")
    assert ExtractiveGenerator(**SHIPPED).generate([request])[0].text == "It is 45 pence. [1]"
    assert answer("What is the mileage rate?", "It is 45 pence.") == Reply("")


@pytest.mark.parametrize("question", ["Where are penguins?", "", "What is it?", "???"])
def test_nothing_shared_is_an_abstention(question: str) -> None:
    assert answer(question, "The sky was grey. It rained.") == Reply("")
    assert answer(question) == Reply("")


def test_the_floor_asks_for_more_of_the_question() -> None:
    question, text = "Did the purple submarine sink?", "The submarine was old."
    assert answer(question, text).citations == (1,)
    assert answer(question, text, floor=0.9) == Reply("")


VOCABULARY = ("otter", "river", "Rain", "12", "F-12", "the", "who", "bank.", "Fish?", "sank!", "|", "#")
words = st.lists(st.sampled_from(VOCABULARY), max_size=12).map(" ".join)


@given(words, st.lists(words, max_size=4), st.integers(1, 3))
@settings(max_examples=60, deadline=None)
def test_replies_are_quotes_with_valid_markers(question: str, texts: list[str], count: int) -> None:
    generator, request = ExtractiveGenerator(**SHIPPED | {"sentences": count}), ask(question, *texts)
    (reply,) = generator.generate([request])
    assert "".join(generator.stream(request)) == reply.text
    assert set(reply.citations) <= set(range(1, len(texts) + 1))
    assert reply.text.count("[") <= count
    assert bool(reply.text) == bool(reply.citations)


def test_a_quoted_row_ends_with_its_line_and_a_sentence_goes_on() -> None:
    table = "| Place | Fee |\n| --- | --- |\n| Plover pond | 5 crowns |\n| Plover lake | 7 crowns |"
    reply = answer("Which plover place costs crowns?", table, sentences=2, share=0.0)
    assert reply.text == "Place: Plover pond | Fee: 5 crowns [1]\nPlace: Plover lake | Fee: 7 crowns [1]"
    assert len(cited_sentences(reply.text)) == 2
    told = answer("What do plover crowns cost?", "Plover crowns cost five. Plover crowns cost more.", sentences=2, share=0.0)
    assert told.text == "Plover crowns cost five. [1] Plover crowns cost more. [1]"


OLD = "# Leave HB-1 (2024 edition) - SUPERSEDED\n\n## Carrying over\n\nUp to six unused days could be carried over."
NEW = "# Leave HB-1 (2025 edition)\n\n## Carrying over\n\nYou may carry over up to four unused days."
SIX, FOUR = "Up to six unused days could be carried over.", "You may carry over up to four unused days."
TABLE = "# Codes\n\n| code | expired |\n|---|---|\n| K1 | unused days carried over |"
CARRY = "How many unused days can I carry over?"


def edition(question: str, *texts: str, **changes: Any) -> str:
    """The edition from whole documents, in this order."""
    documents = [Document(f"d{number}", text) for number, text in enumerate(texts)]
    corpus = Corpus.of(documents, [Span(one.doc_id, 0, len(one.text)) for one in documents])
    request = Request(Query("q", question), corpus.chunks(range(len(corpus))), ())
    generator = ExtractiveGenerator(**SHIPPED | changes)
    (reply,) = generator.generate([request])
    assert isinstance(reply, Reply)
    assert "".join(generator.stream(request)) == reply.text
    return reply.text


def test_the_edition_in_force_answers_wherever_it_was_found() -> None:
    assert edition(CARRY, OLD, NEW, superseded=[], share=0.1) == f"{SIX} [1] {FOUR} [2]"
    assert edition(CARRY, OLD, NEW) == edition(CARRY, OLD, NEW, superseded_worth=0.0) == f"{FOUR} [2]"
    assert edition(CARRY, NEW, OLD) == f"{FOUR} [1]"
    # Worth as much, what is superseded still stands behind.
    assert edition(CARRY, OLD, NEW, superseded_worth=1.0, share=0.1) == f"{FOUR} [2] {SIX} [1]"


@pytest.mark.parametrize(
    ("asked", "texts", "found"),
    [
        ("unused days carried over in 2024?", (OLD, NEW), SIX),
        ("superseded: unused days carried over?", (OLD, NEW), SIX),
        ("HB-1: how many unused days can I carry over?", (OLD, NEW), f"{FOUR} [2]"),
        (CARRY, (OLD,), f"{SIX} [1]"),
        *[
            (CARRY, (f"# {title}\n\n{SIX}", NEW), f"{FOUR} [2]")
            for title in ("Leave, EXPIRED", "Archived: leave", "Old > Obsolete")
        ],
        *[
            (CARRY, (f"# {title}\n\nSuperseded. {SIX}", NEW), f"{SIX} [1] {FOUR} [2]")
            for title in ("Leave unsuperseded", "Leave")
        ],
        ("unused days carried over", (TABLE, NEW), "code: K1 | expired: unused days carried over [1]"),
    ],
)
def test_words_of_headings_say_which_edition_is_superseded(asked: str, texts: tuple[str, ...], found: str) -> None:
    assert edition(asked, *texts, share=0.1).startswith(found)


def test_words_are_words_and_no_patterns() -> None:
    assert edition("unused days carry over", f"# Leave 1.0\n\n{SIX}", NEW, superseded=["1.0", "(a+)+$"]) == f"{FOUR} [2]"
    assert "[1]" in edition("unused days carry over", f"# Leave 1x0\n\n{SIX}", NEW, superseded=["1.0"])


RATES = "In pounds:\n\n||Ended||\n|---|---|---|\n||2019|2018|\n|Staff:|||\n|Boat hire|44|57|\n|Van hire|81|90|"
LIMITS = "Requests of £5 to £60 go to Ann. Requests for more than £60 go to Bob."


@pytest.mark.parametrize(
    ("question", "text", "found"),
    [
        ("What was the boat hire?", RATES, "In pounds | Staff: Boat hire | Ended 2019: 44 | 2018: 57 [1]"),
        ("Who gets requests of £10?", LIMITS, "Requests of £5 to £60 go to Ann. [1]"),
        ("Who gets requests of £90?", LIMITS, "Requests for more than £60 go to Bob. [1]"),
        ("How many otters live here?", "Otters live here. A survey counted 12 otters.", "A survey counted 12 otters. [1]"),
        ("How many of 12 otters live here?", "Some of 12 otters live here.", ""),
        ("May otters swim here?", "May otters swim here? Swimming is forbidden.", "Swimming is forbidden. [1]"),
    ],
)
def test_an_answer_states_what_is_asked(question: str, text: str, found: str) -> None:
    assert answer(question, text, sentences=1).text == found


def test_a_cut_table_keeps_its_header_and_the_line_above() -> None:
    chunk = Corpus.of([Document("d", RATES)], [Span("d", RATES.index("|Van"), len(RATES))]).chunk(0)
    (reply,) = ExtractiveGenerator(**SHIPPED).generate([Request(Query("q", "What was the van hire?"), (chunk,), ())])
    assert reply.text == "In pounds: Van hire | Ended 2019: 81 | 2018: 90 [1]"


def test_a_follow_up_is_read_with_the_question_before_it() -> None:
    request = ask("And on Sundays?", "Boats rest on Sundays.", "A kayak is twelve pounds on Sundays.")
    after = replace(request, query=Query("q", "And on Sundays?", (Turn("user", "What does a kayak cost?"),)))
    replies = ExtractiveGenerator(**SHIPPED | {"sentences": 1}).generate([request, after])
    assert [reply.citations for reply in replies] == [(1,), (2,)]
