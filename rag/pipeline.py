"""One question in, one answer out. The steps below are the corridor that everything walks.

The stage graph keys, stores and batches these functions; `Pipeline.answer` runs them for one question without a store. What
was measured is what is served.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rag.corpus import Corpus
from rag.errors import ConfigError
from rag.rankings import DIGITS, NOTHING, Rankings
from rag.records import Answer, Document, Hit, Query, Ranking, Reply, Request, Span, Vectors
from rag.roles import Chunker, Embedder, Fusion, Generator, Memory, Prompt, Reranker, Searcher, Selector, changes_nothing


def chunk(chunker: Chunker, documents: Sequence[Document]) -> Corpus:
    """Cut every document; ConfigError when a chunker gives spans that its document does not have."""
    spans: list[Span] = []
    for document in documents:
        found = chunker.chunk(document)
        for span in found:
            if span.doc_id != document.doc_id or not 0 <= span.start < span.end <= len(document.text):
                what = f"gave {span} for document {document.doc_id!r} of {len(document.text)} characters"
                raise ConfigError("chunker", what, "spans are [start, end) of its text")
        spans += found
    if not spans:
        raise ConfigError("chunker", f"made no chunk of {len(documents)} documents", "check that the documents hold text")
    return Corpus.of(documents, spans)


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
    passages = [[corpus.text(position) for position, _ in row] for row in head]
    scored = reranker.score(texts, passages, [[score for _, score in row] for row in head])
    places = rankings.positions.copy()
    scores = rankings.scores.copy()
    if [len(values) for values in scored] != [len(row) for row in head] or not all(map(_finite, scored)):
        raise ConfigError("reranker", "gave other than one finite score per passage", "check the model behind it")
    for question, (row, values) in enumerate(zip(head, scored, strict=True)):
        scores[question, : len(row)] = values
        tail = slice(len(row), int((places[question] != NOTHING).sum()))
        if row and tail.start < tail.stop:
            # Rounded, or scores that differ in their last digit could meet and change places.
            scores[question, tail] += round(min(values) - 1.0 - rankings.scores[question, tail.start], DIGITS)
    return Rankings.ordered(places, scores, places.shape[1])


def _finite(values: Sequence[float]) -> bool:
    return bool(np.isfinite(values).all())


def select(selector: Selector, rankings: Rankings, corpus: Corpus) -> Rankings:
    """Drop or widen what was ranked."""
    return selector.select(rankings, corpus)


def requests(prompt: Prompt, queries: Sequence[Query], rankings: Rankings, corpus: Corpus, k: int) -> list[Request]:
    """What the generator is given: the first k passages of every ranking, and the rendered messages."""
    return [request(prompt, query, rankings.first(k).row(number), corpus) for number, query in enumerate(queries)]


def request(prompt: Prompt, query: Query, hits: Sequence[tuple[int, float]], corpus: Corpus) -> Request:
    """What the generator is given for one question."""
    contexts = corpus.chunks([position for position, _ in hits])
    return Request(query, contexts, prompt.render(query, [context.text for context in contexts]))


@dataclass(frozen=True)
class Trace:
    """Where each passage came from: rankings of one question after every step."""

    indexes: Mapping[str, Rankings]
    fused: Rankings
    reranked: Rankings
    selected: Rankings


@dataclass(frozen=True)
class Pipeline:
    """Roles and an opened corpus: everything that one question needs."""

    corpus: Corpus
    searchers: Mapping[str, Searcher]
    uses_vectors: Mapping[str, bool]
    memory: Memory
    embedder: Embedder
    fusion: Fusion
    reranker: Reranker
    selector: Selector
    prompt: Prompt
    generator: Generator
    depth: int = 100
    rerank_depth: int = 20
    k: int = 5

    def trace(self, query: Query) -> Trace:
        """Search, fuse, rerank and select for one question."""
        texts = self.memory.contextualize([query])
        vectors = embed_queries(self.embedder, texts) if any(self.uses_vectors.values()) else None
        found = {
            name: searcher.search(texts, vectors if self.uses_vectors[name] else None, self.depth)
            for name, searcher in self.searchers.items()
        }
        fused = fuse(self.fusion, found, self.depth)
        reranked = rerank(self.reranker, texts, fused, self.corpus, self.rerank_depth)
        return Trace(found, fused, reranked, select(self.selector, reranked, self.corpus))

    def request(self, query: Query, trace: Trace) -> Request:
        """What the generator would be given."""
        return request(self.prompt, query, trace.selected.first(self.k).row(0), self.corpus)

    def contexts(self, trace: Trace) -> Ranking:
        """The passages that are read, best first."""
        return tuple(Hit(self.corpus.chunk(position), score) for position, score in trace.selected.first(self.k).row(0))

    def answer(self, query: Query) -> Answer:
        """Answer one question."""
        trace = self.trace(query)
        if changes_nothing(self.generator):
            return Answer(query, self.contexts(trace), Reply(""))
        (reply,) = self.generator.generate([self.request(query, trace)])
        return Answer(query, self.contexts(trace), reply)
