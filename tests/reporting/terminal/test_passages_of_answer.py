"""Passages of an answer in a terminal: the number that cites each, the cited words and their section."""

from pathlib import Path
from typing import Any

import pytest

from rag.execution.sweep.open_config import config_of, open_config, required_question
from rag.pipeline.shapes.answer_json import answer_json, found_passages
from rag.reporting.terminal.passages import excerpt, heading, passages_of_answer

LEAVE = """\
# Leave

## Asking
Ask your manager in the rota system, and give notice of at least twice the length of the absence. Silence is not consent.

## Carrying over
You may carry up to four unused days into the next year.
"""


@pytest.fixture
def passage_of(here: Path) -> Any:
    """Ask a corpus of one document, which is one chunk; its passage as the terminal shows it."""
    (here / "leave").mkdir()
    (here / "leave" / "leave.md").write_text(LEAVE, "utf-8")
    held = ["loader=folder", "loader.path=leave", "embedder=hashing", "chunker=whole", "index=[bm25s]", "fusion=single"]

    def passage_of(question: str, *overrides: str) -> dict[str, Any]:
        pipeline, query = open_config(config_of([*held, "store=store", *overrides])), required_question(question)
        trace = pipeline.trace(query)
        answer = answer_json(pipeline.answer_from(query, trace), trace.sought, pipeline.corpus)
        (passage,) = passages_of_answer(found_passages(pipeline.corpus, trace, pipeline.k), answer)
        return passage

    return passage_of


def test_a_cited_passage_shows_the_words_and_their_section(passage_of: Any) -> None:
    passage = passage_of("How many unused days may I carry?")
    (quoted,) = passage["quoted"]
    assert heading(passage).startswith("[bold]\\[1]")
    assert passage["text"][quoted["start"] : quoted["end"]] == "You may carry up to four unused days into the next year."
    assert passage["section"] == "Leave > Carrying over"
    assert "»You may carry up to four unused days into the next year.«" in excerpt(passage)


def test_a_passage_that_was_cut_keeps_its_number(passage_of: Any) -> None:
    passage = passage_of("Whom do I ask in the rota system?", "context_tokens=40")
    assert (passage["label"], passage["section"]) == (1, "Leave > Asking")
    assert passage["text"] == LEAVE
