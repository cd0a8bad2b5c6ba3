"""What stands in for a part of a pipeline in a control: no contexts, those of another question, the gold, chunks that cut none.

Pure: chunks, rankings and golden questions in, chunks and rankings out.
"""

import hashlib
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, zip_longest

import numpy as np
from numpy.typing import NDArray

from rag.core.corpus import Corpus
from rag.core.rankings import Rankings
from rag.core.records import Document, Evidence, Example, Span


def no_contexts(documents: Sequence[Document], questions: int) -> tuple[Corpus, Rankings]:
    """No chunks, and an empty ranking for each question."""
    return Corpus.of(documents, ()), Rankings.pack([()] * questions)


def of_another(rankings: Rankings, examples: Sequence[Example]) -> Rankings:
    """The rankings, each given to another question than the one it was made for; ValueError for a single question."""
    return rankings.take(strangers(examples))


def strangers(examples: Sequence[Example]) -> NDArray[np.int64]:
    """For each question the number of another one, each number once; of the same cluster only where that is inevitable.

    Questions are laid in a circle, clusters side by side, in an order that their hashes draw; everyone looks as many places
    ahead as the largest cluster is long. Where that is more than half of the questions, some must meet their own cluster, and
    as few as possible do. The same questions give the same numbers, in whatever order they stand.
    """
    if len(examples) < 2:
        raise ValueError(f"{len(examples)} question has no other one")
    clusters = [example.cluster or example.query.query_id for example in examples]
    drawn = [(_hash(cluster), _hash(example.query.query_id)) for cluster, example in zip(clusters, examples, strict=True)]
    circle = np.array(sorted(range(len(examples)), key=drawn.__getitem__))
    ahead = max(Counter(clusters).values())
    found = np.empty(len(circle), np.int64)
    found[circle] = np.roll(circle, -ahead if ahead < len(circle) else -1)
    return found


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def gold_contexts(corpus: Corpus, examples: Sequence[Example], depth: int) -> tuple[Corpus, Rankings]:
    """Chunks that are gold, and for each question the ranking of its own, at most `depth` long.

    Of every group the first alternative: a span is one chunk, a whole document its chunks in `corpus`, in reading order.
    Groups of a higher grade come first; they take turns, so that a cut leaves something of every group that it has room for.
    A question without gold gets nothing.
    """
    of_document = _chunks_of_documents(corpus)
    rows = [list(_in_turns(example, of_document))[:depth] for example in examples]
    table = Corpus.of(corpus.documents, chain.from_iterable(rows))
    place = {span: position for position, span in enumerate(_spans(table))}
    ranked = [[(place[span], float(-rank)) for rank, span in enumerate(row)] for row in rows]
    return table, Rankings.pack(ranked)


def _in_turns(example: Example, of_document: dict[str, list[Span]]) -> Iterable[Span]:
    def chunks(group: Evidence) -> list[Span]:
        place = group.alternatives[0]
        return [place] if isinstance(place, Span) else of_document.get(place, [])

    groups = sorted(example.evidence, key=lambda group: -group.grade)
    turns = zip_longest(*map(chunks, groups))
    return dict.fromkeys(span for turn in turns for span in turn if span is not None)


def _chunks_of_documents(corpus: Corpus) -> dict[str, list[Span]]:
    found: dict[str, list[Span]] = {}
    for span in _spans(corpus):
        found.setdefault(span.doc_id, []).append(span)
    return found


def _spans(corpus: Corpus) -> Iterator[Span]:
    rows = zip(corpus.doc.tolist(), corpus.start.tolist(), corpus.end.tolist(), strict=True)
    return (Span(corpus.documents[doc].doc_id, start, end) for doc, start, end in rows)


def uncut(corpus: Corpus, examples: Sequence[Example]) -> Corpus:
    """The chunks, where a gold span is in no chunk whole the neighbours that it crosses made one: no border cuts gold.

    All alternatives of all groups count. Where chunks overlap, the shortest run of neighbours that holds the span is merged.
    Chunks that no gold needs stay as they were. Merged chunks may be longer than the chunker's limit, and an embedder with a
    limit of its own reads their beginning.
    """
    gold: dict[str, set[Span]] = {}
    for place in (place for example in examples for group in example.evidence for place in group.alternatives):
        if isinstance(place, Span):
            gold.setdefault(place.doc_id, set()).add(place)
    chunks = _chunks_of_documents(corpus)
    merged = (_merged(spans, gold.get(doc_id, ())) for doc_id, spans in chunks.items())
    return Corpus.of(corpus.documents, chain.from_iterable(merged))


def _merged(chunks: Sequence[Span], gold: Iterable[Span]) -> Iterator[Span]:
    """Chunks of one document in reading order, neither their starts nor their ends stepping back."""
    starts, ends = [chunk.start for chunk in chunks], [chunk.end for chunk in chunks]
    joined = np.zeros(len(chunks) + 1, np.int64)
    for span in gold:
        # From the last chunk that starts before the span, or the first that has any of it, to the first that ends behind it.
        first = max(bisect_right(starts, span.start) - 1, bisect_right(ends, span.start))
        last = min(bisect_left(ends, span.end), bisect_left(starts, span.end) - 1)
        if first < last:
            joined[first + 1] += 1
            joined[last + 1] -= 1
    with_previous = np.cumsum(joined)[:-1] > 0
    heads = np.flatnonzero(~with_previous).tolist()
    for head, following in zip(heads, [*heads[1:], len(chunks)], strict=True):
        yield Span(chunks[head].doc_id, starts[head], ends[following - 1])
