"""Which edition is quoted: what headings call superseded stands behind, unless the question names it."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from rag.components.generators.extractive import ExtractiveGenerator
from rag.core.corpus import Corpus
from rag.core.records import Document, Query, Reply, Request, Span

OLD = "# Leave HB-1 (2024 edition) - SUPERSEDED\n\n## Carrying over\n\nUp to six unused days could be carried over."
NEW = "# Leave HB-1 (2025 edition)\n\n## Carrying over\n\nYou may carry over up to four unused days."
SIX, FOUR = "Up to six unused days could be carried over.", "You may carry over up to four unused days."
CONF = yaml.safe_load((Path(__file__).parents[3] / "conf" / "generator" / "extractive.yaml").read_text("utf-8"))
SHIPPED: dict[str, Any] = {name: value for name, value in CONF.items() if name != "_target_"}


def answer(question: str, *texts: str, **changes: Any) -> str:
    """The answer from whole documents, in this order."""
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
    assert answer(question, OLD, NEW, superseded=[]) == f"{SIX} [1] {FOUR} [2]"
    assert answer(question, OLD, NEW) == answer(question, OLD, NEW, superseded_worth=0.0) == f"{FOUR} [2]"
    assert answer(question, NEW, OLD) == f"{FOUR} [1]"
    # Worth as much, what is superseded still stands behind.
    assert answer(question, OLD, NEW, superseded_worth=1.0) == f"{FOUR} [2] {SIX} [1]"


@pytest.mark.parametrize("question", ["unused days carried over in 2024?", "superseded: unused days carried over?"])
def test_a_question_that_names_the_edition_gets_it(question: str) -> None:
    assert answer(question, OLD, NEW).startswith(f"{SIX} [1]")


def test_what_both_editions_are_called_names_neither() -> None:
    assert answer("HB-1: how many unused days can I carry over?", OLD, NEW) == f"{FOUR} [2]"


def test_alone_it_answers() -> None:
    assert answer("How many unused days can I carry over?", OLD) == f"{SIX} [1]"


@pytest.mark.parametrize("title", ["Leave, EXPIRED", "Leave (withdrawn)", "Archived: leave", "Leave > Obsolete rules"])
def test_the_words_stand_in_any_heading_and_any_case(title: str) -> None:
    assert answer("How many unused days can I carry over?", f"# {title}\n\n{SIX}", NEW) == f"{FOUR} [2]"


@pytest.mark.parametrize("title", ["Leave unsuperseded", "Leave expiredly", "Leave"])
def test_parts_of_words_and_what_a_text_itself_says_count_for_nothing(title: str) -> None:
    text = f"# {title}\n\nIt was superseded. {SIX}"
    question = "How many unused days can I carry over?"
    assert answer(question, text, NEW) == answer(question, text, NEW, superseded=[]) == f"{SIX} [1] {FOUR} [2]"


def test_words_are_words_and_no_patterns() -> None:
    assert answer("unused days carry over", f"# Leave 1.0\n\n{SIX}", NEW, superseded=["1.0", "(a+)+$"]) == f"{FOUR} [2]"
    assert "[1]" in answer("unused days carry over", f"# Leave 1x0\n\n{SIX}", NEW, superseded=["1.0"])


def test_the_header_of_a_table_calls_nothing_superseded() -> None:
    table = "# Codes\n\n| code | expired |\n|---|---|\n| K1 | unused days carried over |"
    assert answer("unused days carried over", table, NEW, sentences=1) == "K1 | unused days carried over [1]"
