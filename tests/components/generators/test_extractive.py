"""The extractive generator: which sentence wins, and which edition is quoted."""

import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.choices import node

from rag.components.generators.extractive import ExtractiveGenerator
from rag.core.corpus import Corpus
from rag.core.text.citations import cited_sentences
from rag.core.types import Document, Query, Reply, Request, Span


def ask(question: str, *texts: str, section: str = "") -> Request:
    under = f"# {section}\n" if section else ""
    documents = [Document(f"d{number}", under + text) for number, text in enumerate(texts)]
    corpus = Corpus.of(documents, [Span(one.doc_id, len(under), len(one.text)) for one in documents if one.text != under])
    chunks = corpus.chunks(range(len(corpus)))
    return Request(Query("q", question), chunks, ())


def answer(question: str, *texts: str, **parameters: float) -> Reply:
    (reply,) = ExtractiveGenerator(**parameters).generate([ask(question, *texts)])  # type: ignore[arg-type]
    return reply


def test_the_sentence_with_the_evidence_is_quoted_and_cited() -> None:
    reply = answer("How much is the laptop allowance?", "Phones are lent. They stay ours.", "The laptop allowance is 900.")
    assert reply == Reply("The laptop allowance is 900. [2]", (2,))
    assert (reply.prompt_tokens, reply.completion_tokens, reply.cost) == (0, 0, 0.0)


def test_rare_words_beat_frequent_ones() -> None:
    texts = ("Staff may claim travel.", "Staff may claim meals.", "Staff ask for a kayak.")
    assert answer("May staff claim a kayak?", *texts, sentences=1).citations == (3,)


def test_exact_ids_are_not_their_neighbours() -> None:
    texts = ("Form F-11 is for travel claims.", "Form F-12 is for leave claims.")
    assert answer("Which claims is form F-12 for?", *texts, sentences=1).citations == (2,)


def test_words_meet_by_their_stems() -> None:
    assert answer("Which policies applied?", "The policy applies.", "Nothing here.").citations == (1,)


def test_equal_evidence_goes_to_the_earlier_context() -> None:
    assert answer("Who feeds otters?", "Ann feeds otters.", "Bob feeds otters.", sentences=1).text == "Ann feeds otters. [1]"


def test_quotes_keep_their_order_without_repetitions() -> None:
    reply = answer("red kites and blue kites", "Blue kites fly. Blue kites fly.", "Red kites and blue kites fly.", share=0.1)
    assert reply.text == "Blue kites fly. [1] Red kites and blue kites fly. [2]"
    assert reply.citations == (1, 2)


def test_headings_are_weaker_evidence_but_evidence() -> None:
    request = ask("What is the mileage rate?", "It is 45 pence.", section="Mileage rate")
    assert ExtractiveGenerator().generate([request])[0].text == "It is 45 pence. [1]"
    assert ExtractiveGenerator(headings=0).generate([request])[0].text == ""


def test_a_table_row_answers_under_its_header() -> None:
    reply = answer("What is the rate of band B?", "| band | rate |\n|---|---|\n| A | 10 |\n| B | 12 |", sentences=1)
    assert reply.text == "B | 12 [1]"


@pytest.mark.parametrize("question", ["Where are penguins?", "", "What is it?", "???"])
def test_nothing_shared_is_an_abstention(question: str) -> None:
    assert answer(question, "The sky was grey. It rained.") == Reply("")
    assert answer(question) == Reply("")


def test_the_floor_asks_for_more_of_the_question() -> None:
    question, text = "When did the purple submarine sink?", "The submarine was old."
    assert answer(question, text).citations == (1,)
    assert answer(question, text, floor=0.9) == Reply("")


VOCABULARY = ("otter", "river", "Rain", "12", "F-12", "the", "who", "bank.", "Fish?", "sank!", "|", "#")
words = st.lists(st.sampled_from(VOCABULARY), max_size=12).map(" ".join)


@given(words, st.lists(words, max_size=4), st.integers(1, 3))
@settings(max_examples=60, deadline=None)
def test_replies_are_quotes_with_valid_markers(question: str, texts: list[str], count: int) -> None:
    generator, request = ExtractiveGenerator(sentences=count), ask(question, *texts)
    (reply,) = generator.generate([request])
    assert "".join(generator.stream(request)) == reply.text
    assert set(reply.citations) <= set(range(1, len(texts) + 1))
    assert reply.text.count("[") <= count
    assert bool(reply.text) == bool(reply.citations)


@pytest.mark.bench
def test_two_hundred_questions_take_less_than_one_and_a_half_seconds() -> None:
    sentence = "Gauge {0} at weir {1} was read at {2} metres by crew {3} in the spring. "
    texts = ["".join(sentence.format(i * 7 + j, j, i, i + j) for j in range(12))[:800] for i in range(1000)]
    requests = [ask(f"Who read gauge {i * 35} at weir 3?", *texts[i * 5 : i * 5 + 5]) for i in range(200)]
    started = time.process_time()
    replies = ExtractiveGenerator().generate(requests)
    assert time.process_time() - started < 1.5
    assert all(reply.text for reply in replies)


def test_a_quoted_row_ends_with_its_line_and_a_sentence_goes_on() -> None:
    table = "| Place | Fee |\n| --- | --- |\n| Plover pond | 5 crowns |\n| Plover lake | 7 crowns |"
    reply = answer("Which plover place costs crowns?", table, sentences=2, share=0.0)
    assert reply.text == "Plover pond | 5 crowns [1]\nPlover lake | 7 crowns [1]"
    assert len(cited_sentences(reply.text)) == 2
    told = answer("What do plover crowns cost?", "Plover crowns cost five. Plover crowns cost more.", sentences=2, share=0.0)
    assert told.text == "Plover crowns cost five. [1] Plover crowns cost more. [1]"


OLD = "# Leave HB-1 (2024 edition) - SUPERSEDED\n\n## Carrying over\n\nUp to six unused days could be carried over."
NEW = "# Leave HB-1 (2025 edition)\n\n## Carrying over\n\nYou may carry over up to four unused days."
SIX, FOUR = "Up to six unused days could be carried over.", "You may carry over up to four unused days."
SHIPPED = {name: value for name, value in node("generator", "extractive").items() if name != "_target_"}


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
    question = "How many unused days can I carry over?"
    assert edition(question, OLD, NEW, superseded=[]) == f"{SIX} [1] {FOUR} [2]"
    assert edition(question, OLD, NEW) == edition(question, OLD, NEW, superseded_worth=0.0) == f"{FOUR} [2]"
    assert edition(question, NEW, OLD) == f"{FOUR} [1]"
    # Worth as much, what is superseded still stands behind.
    assert edition(question, OLD, NEW, superseded_worth=1.0) == f"{FOUR} [2] {SIX} [1]"


@pytest.mark.parametrize("question", ["unused days carried over in 2024?", "superseded: unused days carried over?"])
def test_a_question_that_names_the_edition_gets_it(question: str) -> None:
    assert edition(question, OLD, NEW).startswith(f"{SIX} [1]")


def test_what_both_editions_are_called_names_neither() -> None:
    assert edition("HB-1: how many unused days can I carry over?", OLD, NEW) == f"{FOUR} [2]"


def test_alone_it_answers() -> None:
    assert edition("How many unused days can I carry over?", OLD) == f"{SIX} [1]"


@pytest.mark.parametrize("title", ["Leave, EXPIRED", "Leave (withdrawn)", "Archived: leave", "Leave > Obsolete rules"])
def test_the_words_stand_in_any_heading_and_any_case(title: str) -> None:
    assert edition("How many unused days can I carry over?", f"# {title}\n\n{SIX}", NEW) == f"{FOUR} [2]"


@pytest.mark.parametrize("title", ["Leave unsuperseded", "Leave expiredly", "Leave"])
def test_parts_of_words_and_what_a_text_itself_says_count_for_nothing(title: str) -> None:
    text = f"# {title}\n\nIt was superseded. {SIX}"
    question = "How many unused days can I carry over?"
    assert edition(question, text, NEW) == edition(question, text, NEW, superseded=[]) == f"{SIX} [1] {FOUR} [2]"


def test_words_are_words_and_no_patterns() -> None:
    assert edition("unused days carry over", f"# Leave 1.0\n\n{SIX}", NEW, superseded=["1.0", "(a+)+$"]) == f"{FOUR} [2]"
    assert "[1]" in edition("unused days carry over", f"# Leave 1x0\n\n{SIX}", NEW, superseded=["1.0"])


def test_the_header_of_a_table_calls_nothing_superseded() -> None:
    table = "# Codes\n\n| code | expired |\n|---|---|\n| K1 | unused days carried over |"
    assert edition("unused days carried over", table, NEW, sentences=1) == "K1 | unused days carried over [1]"
