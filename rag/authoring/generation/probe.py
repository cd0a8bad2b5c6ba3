"""How easily searches without a key find the evidence of questions, and how well a set tells trials apart."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag.authoring.candidates import Candidate, touches
from rag.authoring.generation.wording import turn
from rag.components.analysers.words import WordAnalyser
from rag.components.chunkers.recursive import RecursiveChunker
from rag.components.indexes.bm25s import Bm25sIndex
from rag.config.build import Components
from rag.config.catalog import choice
from rag.core.arrays import Floats
from rag.core.errors import ConfigError
from rag.core.roles import Embedder, Searcher
from rag.core.text.languages import STOP_WORDS, WITHOUT_STEMMER
from rag.core.types import Document, Span

WORDS, SIZE = (400, 1600), 800
"""The characters of chunks that the probe searches by words; of chunks that have vectors."""
K, COVERED, DEPTH = 5, 0.5, 50
"""Chunks that the probe looks at, the part of a span that is enough, and the places of a search that count."""
MOST_VECTORS = 600
"""The most chunks that are searched for gains: those with evidence and a sample of the others, the same for both searches."""


class TextVectors:
    """The vectors of texts, each computed once."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder, self._known = embedder, dict[str, NDArray[np.float32]]()

    def of(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Shape (texts, dimensions)."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        self._known.update(zip(new, self._embedder.embed_documents(new) if new else (), strict=True))
        return np.array([self._known[text] for text in texts], np.float32)


def sentence_vectors(language: str, components: Components) -> TextVectors | None:
    """The vectors of MiniLM; None for a language that it does not know, and where it is not installed."""
    try:
        return TextVectors(components.handed(choice("embedder", "minilm"), "embedder")) if language == "english" else None
    except (ConfigError, ImportError):
        return None


def search_by_words(texts: Sequence[str], language: str) -> Searcher:
    """BM25 over the stems of a language."""
    stemmed, stop = language if language not in WITHOUT_STEMMER else None, language if language in STOP_WORDS else None
    index = Bm25sIndex(WordAnalyser(2, stemmed, stop))
    return index.open(index.build(texts, None))


def gains(asked: Sequence[Candidate], documents: Sequence[Document], language: str, vectors: TextVectors) -> Floats:
    """How early a search by words and one by vectors find the evidence of questions, shape (questions, 2).

    1 / log2(1 + place), as in nDCG; `place` is the number of chunks of SIZE characters that solve the question, and the gain is
    0 behind DEPTH places.
    """
    spans, chunks = _chunks(documents, SIZE)
    if len(spans) > MOST_VECTORS:
        numbers: dict[str, list[int]] = defaultdict(list)
        for number, span in enumerate(spans):
            numbers[span.doc_id].append(number)
        evidence = (span for each in asked for group in each.evidence for span in group)
        own = (at for span in evidence for at in numbers[span.doc_id] if touches(spans[at], span))
        others = sorted(range(len(spans)), key=lambda at: turn(chunks[at], len(spans)))
        near = list(dict.fromkeys(chain(own, others)))[:MOST_VECTORS]
        spans, chunks = [spans[at] for at in near], [chunks[at] for at in near]
    texts = [each.conversation for each in asked]
    hits = search_by_words(chunks, language).search(texts, None, DEPTH)
    embedded = vectors.of(chunks)
    best = (np.argsort(-(embedded @ one), kind="stable")[:DEPTH] for one in vectors.of(texts))
    pairs = (([number for number, _ in hits.row(at)], places.tolist()) for at, places in enumerate(best))
    found = [[_gain(each, [spans[at] for at in row]) for row in pair] for each, pair in zip(asked, pairs, strict=True)]
    return np.array(found, np.float64).reshape(len(asked), 2)


def discrimination(
    documents: Sequence[Document], questions: Mapping[str, Candidate], language: str, vectors: TextVectors | None
) -> dict[str, Any]:
    """The shares of answerable questions that every, and that no trial of the probe solves, and the share by trial.

    Trials: BM25 over words and over stems, chunks of 400 and of 1,600 characters, and for a small corpus MiniLM, chunks of 800.
    A question is solved if the first 5 chunks cover half of a span of each of its groups.
    """
    asked = [candidate for candidate in questions.values() if candidate.evidence]
    solved = solved_by(documents, asked, language, vectors)
    table = np.array(list(solved.values()), dtype=bool).reshape(len(solved), len(asked))
    size = max(len(asked), 1)
    every, none = (float(part.sum()) / size for part in (table.all(axis=0), ~table.any(axis=0)))
    return {"solved_by_all": every, "solved_by_none": none, "solved": {name: sum(row) / size for name, row in solved.items()}}


def solved_by(
    documents: Sequence[Document], asked: Sequence[Candidate], language: str, vectors: TextVectors | None
) -> dict[str, list[bool]]:
    """The questions that each trial of the probe solves."""
    solved: dict[str, list[bool]] = {}
    for size in (*WORDS, SIZE):
        spans, chunks = _chunks(documents, size)
        for name, ranked in _searches(chunks, size, [each.conversation for each in asked], language, vectors):
            rows = ([spans[at] for at in row] for row in ranked)
            solved[f"{name} {size}"] = [_is_solved(each, row) for each, row in zip(asked, rows, strict=True)]
    return solved


def _chunks(documents: Sequence[Document], size: int) -> tuple[list[Span], list[str]]:
    texts = {document.doc_id: document.text for document in documents}
    spans = [span for document in documents for span in RecursiveChunker(size).chunk(document)]
    return spans, [texts[span.doc_id][span.start : span.end] for span in spans]


def _searches(
    chunks: Sequence[str], size: int, asked: Sequence[str], language: str, vectors: TextVectors | None
) -> Iterator[tuple[str, list[list[int]]]]:
    """The searches of chunks of one size by their names, with the positions of the best K chunks for each question."""
    if size == SIZE:
        if vectors and len(chunks) <= MOST_VECTORS and asked:
            scores = vectors.of(asked) @ vectors.of(chunks).T
            yield "minilm", np.argsort(-scores, axis=1, kind="stable")[:, :K].tolist()
        return
    plain = Bm25sIndex(WordAnalyser(2, None, None))
    searchers = {"words": plain.open(plain.build(chunks, None)), "stems": search_by_words(chunks, language)}
    for name, searcher in searchers.items():
        rankings = searcher.search(asked, None, K)
        yield name, [[at for at, _ in rankings.row(number)] for number in range(len(asked))]


def _gain(candidate: Candidate, found: Sequence[Span]) -> float:
    own = (place for place, span in enumerate(found, 1) if span.doc_id in candidate.documents)
    return next((float(1 / np.log2(1 + place)) for place in own if _is_solved(candidate, found[:place])), 0.0)


def _is_solved(candidate: Candidate, found: Sequence[Span]) -> bool:
    return all(any(_covered(span, found) for span in group) for group in candidate.evidence)


def _covered(span: Span, found: Sequence[Span]) -> bool:
    inside = (range(max(span.start, each.start), min(span.end, each.end)) for each in found if each.doc_id == span.doc_id)
    return len(set().union(*inside)) >= COVERED * (span.end - span.start)
