"""The chunks at the gold of a question in one trial, with the facts that tell two chunkers apart."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import inf

import numpy as np

from rag.analysis.chunk_structure import BARE, HEADING, WORD, SeenChunk, Structure
from rag.core.corpus import Corpus
from rag.core.types import Evidence, Span, spans_of
from rag.reporting.html.view_model import GoldChunks

MOST = 9
"""Chunks that are shown at one place of gold, the first ones."""
FACTS = {HEADING: "ending in a heading", BARE: "with a table row without its header"}


def chunks_at(
    corpus: Corpus, group: Evidence, ranks: Mapping[int, int], rank: int, structure: Callable[[str], Structure]
) -> GoldChunks:
    """The chunks with the alternative of a group that is found first, and one chunk before and one behind.

    `ranks` are the ranks of positions, and `rank` is that of the group, 0 if it was not found.
    """
    found = f"finds the gold at rank {rank}" if rank else "does not find the gold"
    spans = [Span(pieces[0].doc_id, pieces[0].start, pieces[-1].end) for pieces in map(spans_of, group.alternatives) if pieces]
    held = {span: at for span in spans if (at := _positions(corpus, span))}
    if not held:
        document = any(isinstance(place, str) for place in group.alternatives)
        return GoldChunks(f"{found}, {'a whole document' if document else 'which is in no chunk'}")
    span = min(held, key=lambda one: min(ranks.get(at, inf) for at in held[one]))
    row = int(corpus.doc[held[span][0]])
    around = range(max(held[span][0] - 1, 0), min(held[span][-1] + 2, len(corpus)))
    own = structure(corpus.documents[row].text)
    near = [(ranks.get(at, 0), own.seen(corpus, at)) for at in around if int(corpus.doc[at]) == row]
    inside = [one for one in sorted(near, key=lambda one: one[0] or inf) if one[1].start < span.end and one[1].end > span.start]
    whole = [one for one in inside if one[1].start <= span.start and span.end <= one[1].end][:1]
    part = "whole in" if whole else "cut into" if inside[1:] else "in part in"
    other = [f"which {f'has rank {own_rank}' if own_rank else 'is not found'}" for own_rank, _ in whole if own_rank != rank]
    facts = _facts([chunk for _, chunk in whole or inside], part)
    return GoldChunks(", ".join((found, next(facts), *other, *facts)), span.doc_id, tuple(near[:MOST]))


def _positions(corpus: Corpus, span: Span) -> list[int]:
    """The positions of the chunks with a part of a span."""
    row = corpus.place(span.doc_id)
    own = corpus.of_document(row) if row is not None else slice(0, 0)
    inside = (corpus.start[own] < span.end) & (corpus.end[own] > span.start)
    return [own.start + at for at in np.flatnonzero(inside).tolist()]


def _facts(chunks: Sequence[SeenChunk], held: str) -> Iterator[str]:
    """What is known of the chunk with the whole gold, or of those that cut it, the best rank first."""
    sizes = " + ".join(f"{chunk.end - chunk.start:,}" for chunk in chunks[:MOST])
    yield f"{held} {f'{len(chunks)} chunks' if chunks[1:] else 'a chunk'} of {sizes} characters"
    for flag, fact in FACTS.items():
        if count := sum(flag in chunk.flags for chunk in chunks):
            yield f"{count} {fact}" if chunks[1:] else fact
    if words := sum(len(WORD.findall(text)) for text in chunks[0].extra):
        yield "read in other words than its own" if len(chunks[0].extra) == 1 else f"read with {words} more words"
