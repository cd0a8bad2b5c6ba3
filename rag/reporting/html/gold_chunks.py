"""The chunks at the gold of a question in one trial, with the facts that tell two chunkers apart."""

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from rag.analysis.chunk_structure import HEADING, WORD, Structure, extra
from rag.core.corpus import Corpus
from rag.core.records import Evidence, Span, spans_of
from rag.reporting.html.view_model import GoldChunks, NearChunk

MOST = 9
"""Chunks that are shown at one place of gold, the first ones."""


def chunks_at(
    corpus: Corpus, group: Evidence, ranks: Mapping[int, int], rank: int, structure: Callable[[str], Structure]
) -> GoldChunks:
    """The chunks with the alternative of a group that is found first, and one chunk before and one behind.

    `ranks` are the ranks of positions, and `rank` is that of the group, 0 if it was not found.
    """
    found = f"finds the gold at rank {rank}" if rank else "does not find the gold"
    places = [Span(spans[0].doc_id, spans[0].start, spans[-1].end) for spans in map(spans_of, group.alternatives) if spans]
    if not places:
        has_document = any(isinstance(place, str) for place in group.alternatives)
        return GoldChunks(f"{found}, a whole document" if has_document else f"{found}, which its text has lost")
    held = {place: _positions(corpus, place) for place in places}
    place = min(places, key=lambda one: min((ranks.get(at, np.inf) for at in held[one]), default=np.inf))
    row = corpus.place(place.doc_id)
    if row is None or not held[place]:
        return GoldChunks(f"{found}, which is in no chunk")
    own = structure(corpus.documents[row].text)
    near = {
        at: _near(corpus, at, ranks.get(at, 0), own)
        for at in range(held[place][0] - 1, min(held[place][-1] + 2, len(corpus)))
        if at >= 0 and int(corpus.doc[at]) == row
    }
    inside = sorted((near[at] for at in held[place]), key=lambda chunk: chunk.rank or np.inf)
    whole = [chunk for chunk in inside if chunk.start <= place.start and place.end <= chunk.end][:1]
    bare = any(
        not named and line.start < place.end and line.end > place.start
        for at in held[place]
        if not whole or near[at] is whole[0]
        for line, named in own.rows_in(int(corpus.start[at]), int(corpus.end[at]), corpus.index_text(at))
    )
    said = [found, *_facts(whole or inside, whole=bool(whole)), *(["its table row without the header"] if bare else [])]
    return GoldChunks(", ".join(said), place.doc_id, tuple(near.values())[:MOST])


def _positions(corpus: Corpus, place: Span) -> list[int]:
    """The positions of the chunks with a part of a span."""
    row = corpus.place(place.doc_id)
    first, last = np.searchsorted(corpus.doc, [row, row + 1]) if row is not None else (0, 0)
    inside = (corpus.start[first:last] < place.end) & (corpus.end[first:last] > place.start)
    return [int(first) + at for at in np.flatnonzero(inside).tolist()]


def _near(corpus: Corpus, position: int, rank: int, own: Structure) -> NearChunk:
    start, end, read = int(corpus.start[position]), int(corpus.end[position]), corpus.index_text(position)
    return NearChunk(start, end, rank, own.flags(start, end, read), extra(corpus.text(position), read))


def _facts(chunks: Sequence[NearChunk], whole: bool) -> Iterator[str]:
    """What is known of the chunk with the whole gold, or of those that cut it, the best rank first."""
    sizes = " + ".join(f"{chunk.end - chunk.start:,}" for chunk in chunks[:MOST])
    many = f"cut into {len(chunks)} chunks" if len(chunks) > 1 else "in part in a chunk"
    yield f"{'whole in a chunk' if whole else many} of {sizes} characters"
    headed = sum(HEADING in chunk.flags for chunk in chunks)
    if headed:
        yield "which ends in a heading" if len(chunks) == 1 else f"{headed} of them ending in a heading"
    words = sum(len(WORD.findall(text)) for text in chunks[0].extra)
    if words:
        yield "read in other words than its own" if len(chunks[0].extra) == 1 else f"read with {words} more words"
