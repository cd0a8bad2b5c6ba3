"""The facts that a report states of the chunks at the gold."""

from dataclasses import replace
from itertools import pairwise

import pytest

from rag.analysis.chunk_structure import Structure
from rag.core.corpus import Corpus
from rag.core.types import Anchor, Document, Evidence, Place, Span
from rag.reporting.html.gold_chunks import MOST, chunks_at

A = Document("a.md", "# One\n\nFirst words.\n\n# Two\n\nSecond words.\n\n| Key | Value |\n|---|---|\n| k | v |\n")
B = Document("b.md", "x" * 100)
FIRST, SECOND, ROW = (
    Span("a.md", A.text.index(words), A.text.index(words) + len(words)) for words in ("First", "Second", "| k")
)
CUTS = [0, A.text.index("Second"), A.text.index("|---"), len(A.text)]
SPANS = [Span("a.md", *edges) for edges in pairwise(CUTS)] + [Span("b.md", at, at + 5) for at in range(0, 100, 5)]
CORPUS = Corpus.of([A, B], SPANS)


def found(*places: Place, ranks: dict[int, int] | None = None, rank: int = 0, corpus: Corpus = CORPUS) -> tuple[str, list[int]]:
    """What is said of a group, and the ranks of the chunks that are shown."""
    one = chunks_at(corpus, Evidence(places), ranks or {}, rank, Structure.of)
    return one.said, [rank for rank, _ in one.chunks]


@pytest.mark.parametrize(
    ("place", "said", "shown"),
    [
        (FIRST, f"whole in a chunk of {CUTS[1]} characters, ending in a heading", 2),
        (SECOND, f"whole in a chunk of {CUTS[2] - CUTS[1]} characters", 3),
        (ROW, f"whole in a chunk of {CUTS[3] - CUTS[2]} characters, with a table row without its header", 2),
        (
            Span("a.md", FIRST.start, SECOND.end),
            f"cut into 2 chunks of {CUTS[1]} + {CUTS[2] - CUTS[1]} characters, 1 ending in a heading",
            3,
        ),
        (Span("b.md", 0, 100), f"cut into 20 chunks of {' + '.join('5' * MOST)} characters", MOST),
        ("a.md", "a whole document", 0),
        (Anchor("a.md", (), "redaction", "digest"), "which is in no chunk", 0),
    ],
)
def test_the_facts_of_a_place(place: Place, said: str, shown: int) -> None:
    assert found(place) == (f"does not find the gold, {said}", [0] * shown)
    ranks = dict.fromkeys(range(len(CORPUS)), 7)
    assert found(place, ranks=ranks, rank=7)[0] == f"finds the gold at rank 7, {said}"


def test_a_chunk_with_the_whole_gold_that_is_not_the_one_found_is_named() -> None:
    spans = [Span("b.md", 0, 40), Span("b.md", 20, 60)]
    over, gold = Corpus.of([B], spans), Span("b.md", 25, 45)
    for ranks, said in (({0: 1, 1: 3}, "which has rank 3"), ({0: 1}, "which is not found")):
        assert found(gold, ranks=ranks, rank=1, corpus=over)[0].endswith(f"rank 1, whole in a chunk of 40 characters, {said}")


def test_the_alternative_with_the_best_rank_is_shown_with_the_ranks_of_its_chunks() -> None:
    said, ranks = found(FIRST, SECOND, ranks={1: 4, 0: 9, 2: 2}, rank=4)
    assert (said.split(" of ")[0], ranks) == ("finds the gold at rank 4, whole in a chunk", [9, 4, 2])


def test_gold_behind_the_last_chunk_is_held_in_part() -> None:
    part = Corpus.of([A], [Span("a.md", 0, SECOND.end - 2)])
    assert found(SECOND, corpus=part)[0].endswith(f"in part in a chunk of {SECOND.end - 2} characters")


def test_words_that_an_index_reads_besides_are_counted() -> None:
    titled = replace(CORPUS, indexed=tuple(f"One > Two\n{text}" for text in CORPUS.texts))
    assert found(SECOND, corpus=titled)[0].endswith("characters, read with 2 more words")
    written = replace(CORPUS, indexed=tuple("Other words" for _ in CORPUS.texts))
    assert found(SECOND, corpus=written)[0].endswith("characters, read in other words than its own")
