"""The steps from documents and questions to rankings, in batches.

The stage graph keys and stores the results of these functions; `rag.pipeline.pipeline` runs the same functions to answer
questions. So a server runs the code that was measured.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag.core.assessments import Spent
from rag.core.corpus import Corpus
from rag.core.errors import ConfigError
from rag.core.rankings import NOTHING, Rankings, merged, stacked
from rag.core.roles import (
    Chunker,
    Embedder,
    Fusion,
    PassageText,
    QuestionSelector,
    Reranker,
    Rewriter,
    Searcher,
    Selector,
    changes_nothing,
)
from rag.core.types import Allowed, Document, Query, Sought, Span, Vectors

SUBQUERY_K = 60
"""The constant of reciprocal rank fusion (Cormack et al. 2009) between the texts that one question is searched for by."""

LATER = 3
"""Hits of the first search of a question for one of a later search."""


def chunk(chunker: Chunker, documents: Sequence[Document]) -> Corpus:
    """Cut every document; ConfigError when a chunker gives spans that its document does not have."""
    spans: list[Span] = []
    for document in documents:
        chunks = chunker.chunk(document)
        for span in chunks:
            if span.doc_id != document.doc_id or not 0 <= span.start < span.end <= len(document.text):
                what = f"gave {span} for document {document.doc_id!r} of {len(document.text)} characters"
                raise ConfigError("chunker", what, "spans are [start, end) of its text")
        spans += chunks
    if not spans:
        raise ConfigError("chunker", f"made no chunk of {len(documents)} documents", "check that the documents hold text")
    return Corpus.of(documents, spans)


def passages(writer: PassageText, corpus: Corpus) -> tuple[Corpus, list[str], Spent]:
    """The chunks with the texts that indexes, embedder and reranker read, why a model was of no help, and what it took.

    ConfigError unless there is one text per chunk.
    """
    written = getattr(writer, "written", lambda chunks: [(text, "", Spent()) for text in writer.texts(chunks)])(corpus)
    if len(written) != len(corpus):
        raise ConfigError("passage", f"gave {len(written)} texts for {len(corpus)} chunks", "one text per chunk is needed")
    spent = sum((took for _, _, took in written), Spent())
    return replace(corpus, indexed=tuple(text for text, _, _ in written)), [why for _, why, _ in written if why], spent


def embed_documents(embedder: Embedder, texts: Sequence[str]) -> Vectors:
    """Unit vectors of passages."""
    return _normalised(embedder.embed_documents(texts), len(texts))


def embed_queries(embedder: Embedder, texts: Sequence[str]) -> Vectors:
    """Unit vectors of questions."""
    return _normalised(embedder.embed_queries(texts), len(texts))


def _normalised(vectors: Vectors, expected: int) -> Vectors:
    if vectors.ndim != 2 or len(vectors) != expected:
        raise ConfigError("embedder", f"gave shape {vectors.shape} for {expected} texts", "one row per text is needed")
    if not np.isfinite(vectors).all():
        raise ConfigError("embedder", "gave NaN or infinity", "check the model behind it")
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: Vectors = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0).astype(np.float32)
    return unit


def rewrite(rewriter: Rewriter, queries: Sequence[Query]) -> list[Sought]:
    """The search texts of questions; ConfigError where a rewriter leaves a question without a text."""
    rewritten = rewriter.rewrite(queries)
    if len(rewritten) != len(queries) or not all(sought.texts for sought in rewritten):
        raise ConfigError("queries", "gave no text for a question", "one text or more for each")
    return rewritten


def searched(
    searcher: Searcher, sought: Sequence[Sought], vectors: Vectors | None, depth: int, allowed: Sequence[Allowed | None]
) -> Rankings:
    """One ranking of an index for each question, which finds only chunks that its `allowed` flags, None for all.

    `vectors` has one row for each text. Questions with the same chunks are searched for in one batch.
    """
    ends = np.cumsum([len(each.texts) for each in sought])
    groups = dict[int, list[int]]()
    for row, one in enumerate(allowed):
        groups.setdefault(id(one), []).append(row)
    found = []
    for rows in groups.values():
        own = [sought[row] for row in rows]
        texts = [text for each in own for text in each.texts]
        places = [place for row in rows for place in range(ends[row] - len(sought[row].texts), ends[row])]
        given = vectors if vectors is None or len(groups) == 1 else vectors[places]
        found.append(gathered(searcher.search(texts, given, depth, allowed[rows[0]]), own, depth))
    if len(found) == 1:
        return found[0]
    return stacked(found).take(np.argsort([row for rows in groups.values() for row in rows]))


def gathered(rankings: Rankings, sought: Sequence[Sought], depth: int) -> Rankings:
    """One ranking per question from one per text, those of several texts fused by reciprocal rank."""
    counts = [len(each.texts) for each in sought]
    if max(counts, default=1) == 1:
        return rankings
    first = np.cumsum([0, *counts[:-1]])
    most = max(counts)
    parts, points = [], []
    for place in range(most):
        rows = np.where(place < np.array(counts), first + place, 0)
        own = Rankings(rankings.positions[rows].copy(), rankings.scores[rows].copy())
        own.positions[place >= np.array(counts)] = NOTHING
        own.scores[place >= np.array(counts)] = -np.inf
        parts.append(own)
        points.append(np.broadcast_to(1 / (SUBQUERY_K + np.arange(1, own.positions.shape[1] + 1)), own.positions.shape))
    several = merged(parts, points, depth)
    # A question with one text keeps the scores of its index.
    alone = np.array(counts)[:, None] == 1
    width = max(several.positions.shape[1], rankings.positions.shape[1])
    mixed = np.where(alone, _wide(rankings.positions[first], width, NOTHING), _wide(several.positions, width, NOTHING))
    scores = np.where(alone, _wide(rankings.scores[first], width, -np.inf), _wide(several.scores, width, -np.inf))
    return Rankings.ordered(mixed, scores, width)


def by_turns(found: Sequence[Rankings], depth: int) -> Rankings:
    """One ranking of several of the same questions: each chunk by its best turn, a tie by the order of the rankings.

    The first hit of each ranking comes first; then a later ranking has one turn for every LATER of the first one. Sums over the
    rankings would drop what one search alone finds, which is what the search was for.
    """
    rows = []
    for question in range(len(found[0])):
        best = dict[int, float]()
        for number, one in enumerate(found):
            for position, (rank, _) in one.placed(question).items():
                turn = (rank - 1) * (LATER if number else 1) + number / (number + 1)
                best[position] = max(best.get(position, 0.0), 1 / (1 + turn))
        rows.append(list(best.items()))
    packed = Rankings.pack(rows)
    return Rankings.ordered(packed.positions, packed.scores, depth)


def _wide(values: NDArray[Any], width: int, fill: float) -> NDArray[Any]:
    return np.pad(values, ((0, 0), (0, width - values.shape[1])), constant_values=fill)


def fuse(fusion: Fusion, rankings: Mapping[str, Rankings], depth: int) -> Rankings:
    """One ranking of several."""
    return fusion.fuse(rankings, depth)


def rerank(reranker: Reranker, texts: Sequence[str], rankings: Rankings, corpus: Corpus, depth: int) -> Rankings:
    """Score the first `depth` hits again; the hits behind keep their order and their distances, one below the last of them.

    ConfigError when a reranker does not give one finite score per passage.
    """
    if changes_nothing(reranker):
        return rankings
    head = [rankings.first(depth).row(question) for question in range(len(rankings))]
    read = [[corpus.index_text(position) for position, _ in row] for row in head]
    scored = reranker.score(texts, read, [[score for _, score in row] for row in head])
    if [len(values) for values in scored] != [len(row) for row in head] or not all(np.isfinite(row).all() for row in scored):
        raise ConfigError("reranker", "gave other than one finite score per passage", "check the model behind it")
    return rankings.rescored(scored)


def select(
    selectors: Mapping[str, Selector | QuestionSelector],
    rankings: Rankings,
    corpus: Corpus,
    questions: Sequence[str] = (),
    allowed: Sequence[Allowed | None] = (),
) -> Rankings:
    """Drop or widen what was ranked, one selector after the other; the same object where there is none.

    Of a question with flags in `allowed` only those chunks stay.
    """
    chosen = rankings
    for selector in selectors.values():
        if isinstance(selector, QuestionSelector):
            chosen = selector.select_for(questions, chosen, corpus)
        else:
            chosen = selector.select(chosen, corpus)
    if chosen is rankings or all(one is None for one in allowed):
        return chosen
    rows = [chosen.only(row) if one is None else chosen.only(row).within(one) for row, one in enumerate(allowed)]
    return stacked(rows)
