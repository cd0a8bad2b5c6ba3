"""An opened pipeline answers without a store."""

from pathlib import Path
from typing import Any

from support.small_set import write_golden

from rag.core.records import Query
from rag.execution.store.store import Store
from rag.execution.sweep.open_config import answered, config_of, open_config, required_question
from rag.reporting.terminal.passages import excerpt

OVERRIDES = ("dataset=native", "embedder=hashing", "chunker.size=60", "reranker=mmr", "index=[dense]", "fusion=single")


def test_what_is_asked_leaves_no_trace_in_the_store(here: Path) -> None:
    golden = write_golden(here / "golden")
    config = config_of([*OVERRIDES, f"dataset.path={golden}", f"loader.path={golden / 'documents'}", "store=store"])
    pipeline = open_config(config)
    store = Store("store")
    before = {space: store.keys(space) for space in ("stages", "vectors", "pairs", "replies")}
    assert before["vectors"]
    answer = pipeline.answer(Query("typed", "Which animal may go to Holm for nothing?"))
    assert answer.contexts
    assert {space: store.keys(space) for space in before} == before


LEAVE = """\
# Leave

## Asking
Ask your manager in the rota system, and give notice of at least twice the length of the absence. Silence is not consent.

## Carrying over
You may carry up to four unused days into the next year.
"""


def leave_asked(folder: Path, question: str, *overrides: str) -> Any:
    """One document, which is one chunk, and what is told of a question about it."""
    folder.mkdir()
    (folder / "leave.md").write_text(LEAVE, "utf-8")
    held = ["loader=folder", f"loader.path={folder}", "embedder=hashing", "chunker=whole", "index=[bm25s]", "fusion=single"]
    return answered(open_config(config_of([*held, "store=store", *overrides])), required_question(question))


def test_a_cited_passage_shows_the_words_and_their_section(here: Path) -> None:
    said = leave_asked(here / "leave", "How many unused days may I carry?")
    (passage,) = said["passages"]
    (quoted,) = passage["quoted"]
    assert passage["number"] == 1
    assert passage["text"][quoted["start"] : quoted["end"]] == "You may carry up to four unused days into the next year."
    assert passage["section"] == "Leave > Carrying over"
    assert {one["section"] for one in said["cited"]} == {"Leave > Carrying over"}
    assert "»You may carry up to four unused days into the next year.«" in excerpt(passage)


def test_a_passage_that_was_cut_keeps_its_number(here: Path) -> None:
    (passage,) = leave_asked(here / "leave", "Whom do I ask in the rota system?", "context_tokens=40")["passages"]
    assert (passage["number"], passage["section"]) == (1, "Leave > Asking")
    assert passage["text"] == LEAVE
