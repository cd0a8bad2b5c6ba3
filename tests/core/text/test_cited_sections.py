"""Every gold quote of the handbook is cited under the headings above it, by a parser of this test."""

import re
from itertools import pairwise

import pytest
from support.corpora import text_folder

from rag.components.chunkers.fixed import FixedChunker
from rag.components.chunkers.recursive import RecursiveChunker
from rag.components.loaders.native_questions import NativeQuestions
from rag.core.files import shipped
from rag.core.roles import Chunker
from rag.core.text.citations import citations
from rag.core.types import Hit, Span
from rag.evaluation.data.golden import Golden, load
from rag.pipeline.search.steps import chunk

QUOTES = 338


@pytest.fixture(scope="module")
def golden() -> Golden:
    folder = shipped("datasets") / "handbook"
    return load(text_folder(str(folder / "documents")), NativeQuestions(str(folder)))


def headings_above(name: str, text: str, place: int) -> str:
    """The oracle: line by line, `#` in Markdown, elsewhere the first line and lines in capitals between blank ones."""
    path: list[str] = []
    edges = [0, *(match.end() for match in re.finditer("\n", text)), len(text)]
    for start, end in pairwise(edges):
        line = text[start:end].strip()
        if start > place:
            break
        if name.endswith(".md") and (marks := re.match("#+ ", line)):
            path = [*path[: len(marks[0]) - 2], line[len(marks[0]) :]]
        elif name.endswith(".txt") and (start == 0 or (line == line.upper() and re.search("[A-Z]{2}", line))):
            path = [*path[:1], line]
    return " > ".join(path)


@pytest.mark.parametrize(
    ("chunker", "held"), [(RecursiveChunker(size=800), QUOTES), (FixedChunker(size=800), 316)], ids=["recursive", "fixed"]
)
def test_a_quote_is_cited_under_its_own_headings(golden: Golden, chunker: Chunker, held: int) -> None:
    corpus = chunk(chunker, golden.documents)
    groups = (group for example in golden.examples for group in example.evidence)
    quotes = [gold for group in groups for gold in group.alternatives if isinstance(gold, Span)]
    assert len(quotes) == QUOTES
    cited, starts = 0, 0
    for gold in quotes:
        row = corpus.place(gold.doc_id)
        assert row is not None
        text = corpus.documents[row].text
        own = (corpus.doc == row) & (corpus.start <= gold.start) & (corpus.end >= gold.end)
        for position in own.nonzero()[0][:1].tolist():
            passage, expected = corpus.chunk(position), headings_above(gold.doc_id, text, gold.start)
            found = citations(f"{text[gold.start : gold.end].strip()} [1]", (Hit(passage, 1.0),))
            assert {one.section for one in found} == {expected}
            cited += 1
            starts += passage.section_at(passage.span.start) == expected
    assert cited == held
    assert starts < 0.6 * held, "the headings above the passage would not be enough"
