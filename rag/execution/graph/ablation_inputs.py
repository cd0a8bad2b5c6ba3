"""Inputs of ablations: no contexts, the contexts of another question, the gold, chunks that cut no gold.

Pure: chunks, rankings and golden questions in, chunks and rankings out.
"""

import hashlib
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, zip_longest

import numpy as np

from rag.core.arrays import Ints
from rag.core.corpus import Corpus
from rag.core.rankings import Rankings
from rag.core.types import Document, Evidence, Example, Span, spans_of


def no_contexts(documents: Sequence[Document], questions: int) -> tuple[Corpus, Rankings]:
    """No chunks, and an empty ranking for each question."""
    return Corpus.of(documents, ()), Rankings.pack([()] * questions)


def of_another(rankings: Rankings, examples: Sequence[Example]) -> Rankings:
    """The rankings, each given to another question than the one it was made for; ValueError for a single question."""
    return rankings.take(strangers(examples))


def strangers(examples: Sequence[Example]) -> Ints:
    """For each question the number of another one, each number once; of the same cluster only where that is inevitable.

    Questions lie in a circle, cluster by cluster, in the order of their hashes; each is given the question as many places ahead
    as the largest cluster is long. If that is more than half of the questions, as few as possible get their own cluster. The
    numbers do not depend on the order of the questions.
    """
    if len(examples) < 2:
        raise ValueError(f"{len(examples)} question has no other one")
    clusters = [example.cluster or example.query.query_id for example in examples]
    drawn = [(_hash(cluster), _hash(example.query.query_id)) for cluster, example in zip(clusters, examples, strict=True)]
    circle = np.array(sorted(range(len(examples)), key=drawn.__getitem__))
    ahead = max(Counter(clusters).values())
    others = np.empty(len(circle), np.int64)
    others[circle] = np.roll(circle, -ahead if ahead < len(circle) else -1)
    return others


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def gold_contexts(corpus: Corpus, examples: Sequence[Example], depth: int) -> tuple[Corpus, Rankings]:
    """Chunks that are gold, and for each question a ranking of its own gold, at most `depth` long.

    Each group gives its first alternative that is not lost: a span is one chunk, a quote in pieces the chunk from its first to
    its last piece, a whole document its chunks in `corpus`, in reading order.
    Groups take turns, higher grades first, so that a cut leaves a part of as many groups as possible. A question without gold
    has an empty ranking.
    """
    of_document = _chunks_of_documents(corpus)
    rows = [list(_in_turns(example, of_document))[:depth] for example in examples]
    table = Corpus.of(corpus.documents, chain.from_iterable(rows))
    place = {span: position for position, span in enumerate(_spans(table))}
    ranked = [[(place[span], float(-rank)) for rank, span in enumerate(row)] for row in rows]
    return table, Rankings.pack(ranked)


def _in_turns(example: Example, of_document: dict[str, list[Span]]) -> Iterable[Span]:
    def chunks(group: Evidence) -> list[Span]:
        # A quote that is lost cannot be shown; the next alternative may be there.
        place = next((gold for gold in group.alternatives if isinstance(gold, str) or spans_of(gold)), "")
        if isinstance(place, str):
            return of_document.get(place, [])
        pieces = spans_of(place)
        return [Span(place.doc_id, pieces[0].start, pieces[-1].end)]

    groups = sorted(example.evidence, key=lambda group: -group.grade)
    turns = zip_longest(*map(chunks, groups))
    return dict.fromkeys(span for turn in turns for span in turn if span is not None)


def _chunks_of_documents(corpus: Corpus) -> dict[str, list[Span]]:
    chunks: dict[str, list[Span]] = {}
    for span in _spans(corpus):
        chunks.setdefault(span.doc_id, []).append(span)
    return chunks


def _spans(corpus: Corpus) -> Iterator[Span]:
    rows = zip(corpus.doc.tolist(), corpus.start.tolist(), corpus.end.tolist(), strict=True)
    return (Span(corpus.documents[doc].doc_id, start, end) for doc, start, end in rows)


def uncut(corpus: Corpus, examples: Sequence[Example]) -> Corpus:
    """The chunks, neighbours merged wherever a gold span crosses them, so that no border cuts gold.

    All alternatives of all groups count. Where chunks overlap, the shortest run of neighbours that holds the span is merged.
    Merged chunks may be longer than the chunker's limit; an embedder with a limit of its own reads only their beginning.
    """
    gold: dict[str, set[Span]] = {}
    for place in (place for example in examples for place in example.places):
        for span in spans_of(place):
            gold.setdefault(span.doc_id, set()).add(span)
    chunks = _chunks_of_documents(corpus)
    merged = (_merged(spans, gold.get(doc_id, ())) for doc_id, spans in chunks.items())
    return Corpus.of(corpus.documents, chain.from_iterable(merged))


def _merged(chunks: Sequence[Span], gold: Iterable[Span]) -> Iterator[Span]:
    """Chunks of one document in reading order; starts and ends never decrease."""
    starts, ends = [chunk.start for chunk in chunks], [chunk.end for chunk in chunks]
    joined = np.zeros(len(chunks) + 1, np.int64)
    for span in gold:
        # From the last chunk that starts before the span, or the first that overlaps it, to the first that ends after it.
        first = max(bisect_right(starts, span.start) - 1, bisect_right(ends, span.start))
        last = min(bisect_left(ends, span.end), bisect_left(starts, span.end) - 1)
        if first < last:
            joined[first + 1] += 1
            joined[last + 1] -= 1
    with_previous = np.cumsum(joined)[:-1] > 0
    heads = np.flatnonzero(~with_previous).tolist()
    for head, following in zip(heads, [*heads[1:], len(chunks)], strict=True):
        yield Span(chunks[head].doc_id, starts[head], ends[following - 1])
