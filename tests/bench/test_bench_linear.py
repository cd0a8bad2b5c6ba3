"""No text hangs a guard, the search for headings or a chunker: four times the text takes about four times the time."""

import pytest
from bench.measuring import least_cpu
from support.growing_texts import HEADED, READ, SAID, STRUCTURED, Run, growth, look, scan

from rag.components.chunkers.markdown import MarkdownChunker
from rag.core.headings import sections
from rag.core.records import Document

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


@pytest.mark.parametrize("piece", STRUCTURED)
def test_chunks_are_cut_in_time_that_grows_with_the_text(piece: str) -> None:
    chunker = MarkdownChunker(400, 50, ["table"], 1600, 2)
    assert growth(lambda text: chunker.chunk(Document("d", text)), piece, LENGTH // 4, seconds) < GROWTH
