"""How well a set tells trials apart: a few small searches without a key answer every question."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from rag.components.analysers.words import WordAnalyser
from rag.components.chunkers.recursive import RecursiveChunker
from rag.components.embedders.minilm import MiniLmEmbedder
from rag.components.indexes.bm25s import Bm25sIndex
from rag.config.build import Components
from rag.config.catalog import choice
from rag.core.records import Document, Span
from rag.core.text.languages import STOP_WORDS, WITHOUT_STEMMER
from rag.datasets.candidates import Candidate

SIZES = (400, 1600)
EMBEDDED = 800
"""The characters of a chunk that is embedded."""
K, COVERED = 5, 0.5
MOST_VECTORS = 1500
"""The most chunks that are embedded: a larger corpus is probed by words alone."""


def discrimination(
    documents: Sequence[Document], questions: Mapping[str, Candidate], language: str, components: Components
) -> dict[str, Any]:
    """The share of answerable questions that every, and that no trial of the probe solves, and the shares by trial.

    Trials: BM25 over words and over stems, chunks of 400 and of 1,600 characters, and for a small corpus MiniLM. A question is
    solved if the first 5 chunks cover half of a span of each of its groups.
    """
    asked = [candidate for candidate in questions.values() if candidate.evidence]
    solved: dict[str, list[bool]] = {}
    for size in SIZES:
        chunker = RecursiveChunker(size)
        spans = [span for document in documents for span in chunker.chunk(document)]
        for name, search in _searches(spans, documents, language, components).items():
            rows = search([_text(candidate) for candidate in asked])
            found = zip(asked, rows, strict=True)
            solved[f"{name} {size}"] = [_is_solved(candidate, [spans[at] for at in row]) for candidate, row in found]
    table = np.array(list(solved.values()), dtype=bool).reshape(len(solved), len(asked))
    size = max(len(asked), 1)
    every, none = (float(part.sum()) / size for part in (table.all(axis=0), ~table.any(axis=0)))
    return {"solved_by_all": every, "solved_by_none": none, "solved": {name: sum(row) / size for name, row in solved.items()}}


def _searches(
    spans: Sequence[Span], documents: Sequence[Document], language: str, components: Components
) -> dict[str, Callable[[Sequence[str]], list[list[int]]]]:
    """The searches by their name: questions → positions of the best K chunks."""
    texts = {document.doc_id: document.text for document in documents}
    chunks = [texts[span.doc_id][span.start : span.end] for span in spans]
    stemmed, stop = language if language not in WITHOUT_STEMMER else None, language if language in STOP_WORDS else None
    analysers = {"words": WordAnalyser(2, None, None), "stems": WordAnalyser(2, stemmed, stop)}
    found: dict[str, Callable[[Sequence[str]], list[list[int]]]] = {}
    for name, analyser in analysers.items():
        index = Bm25sIndex(analyser)
        searcher = index.open(index.build(chunks, None))

        def by_words(asked: Sequence[str], searcher: Any = searcher) -> list[list[int]]:
            rankings = searcher.search(asked, None, K)
            return [[at for at, _ in rankings.row(number)] for number in range(len(asked))]

        found[name] = by_words
    if len(chunks) <= MOST_VECTORS:
        embedder: MiniLmEmbedder = components.handed(choice("embedder", "minilm"), "embedder")

        def by_vectors(asked: Sequence[str]) -> list[list[int]]:
            scores = embedder.embed_queries(asked) @ embedder.embed_documents(chunks).T
            return np.argsort(-scores, axis=1, kind="stable")[:, :K].tolist()

        found["minilm"] = by_vectors
    return found


def _text(candidate: Candidate) -> str:
    return " ".join([*(turn.text for turn in candidate.history), candidate.text])


def _is_solved(candidate: Candidate, found: Sequence[Span]) -> bool:
    return all(any(_covered(span, found) for span in group) for group in candidate.evidence)


def _covered(span: Span, found: Sequence[Span]) -> bool:
    inside = (range(max(span.start, each.start), min(span.end, each.end)) for each in found if each.doc_id == span.doc_id)
    return len(set().union(*inside)) >= COVERED * (span.end - span.start)
