"""No text hangs a guard, the search for headings, a chunker or a passage: four times the text takes four times the time."""

import pytest
from bench.measuring import least_cpu
from support.growing_texts import BLOCKS, HEADED, READ, SAID, Run, growth, look, scan

from rag.components.chunkers.markdown import MarkdownChunker
from rag.components.passages.row import RowText
from rag.components.passages.titled import TitledText
from rag.core.corpus import Corpus
from rag.core.headings import sections
from rag.core.text.footnotes import definitions
from rag.core.text.layout import parts
from rag.core.text.tables import tables
from rag.core.types import Document, Span

pytestmark = pytest.mark.bench

LENGTH = 1_000_000
GROWTH = 8.0
"""Four times the text in less than eight times the time: a quadratic search takes sixteen."""


def seconds(run: Run, text: str) -> float:
    """The best of three: what else the machine does comes on top."""
    return max(least_cpu(lambda: run(text)), 1e-3)


@pytest.mark.parametrize("piece", READ)
def test_a_scan_grows_with_the_text(piece: str) -> None:
    assert growth(scan(), piece, LENGTH, seconds) < GROWTH


@pytest.mark.parametrize("piece", SAID)
def test_a_look_at_a_reply_grows_with_the_reply(piece: str) -> None:
    assert growth(look(), piece, LENGTH, seconds) < GROWTH


@pytest.mark.parametrize("piece", HEADED)
def test_headings_are_found_in_time_that_grows_with_the_text(piece: str) -> None:
    assert growth(sections, piece, LENGTH // 4, seconds) < GROWTH


@pytest.mark.parametrize("piece", BLOCKS)
def test_chunks_are_cut_in_time_that_grows_with_the_text(piece: str) -> None:
    chunker = MarkdownChunker(400, 50, ["table"], 1600, 2)
    assert growth(lambda text: chunker.chunk(Document("d", text)), piece, LENGTH // 4, seconds) < GROWTH


STRUCTURED = (
    "| a | b |\n|--|--|\n| 1 | 2 |\n\nTable 1. T\n\n",
    "| 1 | 2 |\n",
    "|1|\n||||\n",
    "a [^1] b\n\n[^1]: c\n\n",
    "# A ",
    "نص 表 ",
)


def read(text: str) -> None:
    """Write the passages of a text that has a table at its begin, in chunks of 800 characters."""
    for cached in (parts, tables, definitions):
        cached.cache_clear()
    document = Document("d", "# T\n\nTable 1. Rows.\n\n| a | b |\n|--|--|\n" + text)
    corpus = Corpus.of([document], [Span("d", at, min(at + 800, len(text))) for at in range(0, len(text), 800)])
    for writer in (TitledText(), RowText()):
        writer.texts(corpus)


@pytest.mark.parametrize("piece", STRUCTURED)
def test_passages_are_written_in_time_that_grows_with_the_text(piece: str) -> None:
    assert growth(read, piece, LENGTH // 16, seconds) < GROWTH
