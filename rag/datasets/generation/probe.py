"""How well a set tells trials apart: a few small searches without a key answer every question."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from rag.components.analysers.words import WordAnalyser
from rag.components.chunkers.recursive import RecursiveChunker
from rag.components.indexes.bm25s import Bm25sIndex
from rag.config.build import Components
from rag.config.catalog import choice
from rag.core.records import Document, Span
from rag.core.text.languages import STOP_WORDS, WITHOUT_STEMMER
from rag.datasets.candidates import Candidate

WORDS, VECTORS = (400, 1600), 800
"""The characters of chunks that are searched by words, and by vectors."""
K, COVERED = 5, 0.5
MOST_VECTORS = 1500
"""The most chunks that are embedded: a larger corpus is probed by words alone."""


def discrimination(
    documents: Sequence[Document], questions: Mapping[str, Candidate], language: str, components: Components
) -> dict[str, Any]:
    """The shares of answerable questions that every, and that no trial of the probe solves, and the share by trial.

    Trials: BM25 over words and over stems, chunks of 400 and of 1,600 characters, and for a small corpus MiniLM, chunks of 800.
    A question is solved if the first 5 chunks cover half of a span of each of its groups.
    """
    asked = [candidate for candidate in questions.values() if candidate.evidence]
    texts = {document.doc_id: document.text for document in documents}
    solved: dict[str, list[bool]] = {}
    for size in (*WORDS, VECTORS):
        spans = [span for document in documents for span in RecursiveChunker(size).chunk(document)]
        chunks = [texts[span.doc_id][span.start : span.end] for span in spans]
        for name, ranked in _searches(chunks, size, [_text(each) for each in asked], language, components):
            rows = ([spans[at] for at in row] for row in ranked)
            solved[f"{name} {size}"] = [_is_solved(each, row) for each, row in zip(asked, rows, strict=True)]
    table = np.array(list(solved.values()), dtype=bool).reshape(len(solved), len(asked))
    size = max(len(asked), 1)
    every, none = (float(part.sum()) / size for part in (table.all(axis=0), ~table.any(axis=0)))
    return {"solved_by_all": every, "solved_by_none": none, "solved": {name: sum(row) / size for name, row in solved.items()}}


def _searches(
    chunks: Sequence[str], size: int, asked: Sequence[str], language: str, components: Components
) -> Iterator[tuple[str, list[list[int]]]]:
    """The searches of chunks of one size by their names, with the positions of the best K chunks for each question."""
    if size == VECTORS:
        if len(chunks) <= MOST_VECTORS and asked:
            embedder = components.handed(choice("embedder", "minilm"), "embedder")
            scores = embedder.embed_queries(asked) @ embedder.embed_documents(chunks).T
            yield "minilm", np.argsort(-scores, axis=1, kind="stable")[:, :K].tolist()
        return
    stemmed, stop = language if language not in WITHOUT_STEMMER else None, language if language in STOP_WORDS else None
    for name, analyser in (("words", WordAnalyser(2, None, None)), ("stems", WordAnalyser(2, stemmed, stop))):
        index = Bm25sIndex(analyser)
        rankings = index.open(index.build(chunks, None)).search(asked, None, K)
        yield name, [[at for at, _ in rankings.row(number)] for number in range(len(asked))]


def _text(candidate: Candidate) -> str:
    return " ".join([*(turn.text for turn in candidate.history), candidate.text])


def _is_solved(candidate: Candidate, found: Sequence[Span]) -> bool:
    return all(any(_covered(span, found) for span in group) for group in candidate.evidence)


def _covered(span: Span, found: Sequence[Span]) -> bool:
    inside = (range(max(span.start, each.start), min(span.end, each.end)) for each in found if each.doc_id == span.doc_id)
    return len(set().union(*inside)) >= COVERED * (span.end - span.start)
