"""One question in, one answer out. The steps below are the corridor that everything walks.

The stage graph keys, stores and batches these functions; `Pipeline.answer` runs them for one question without a store. What
was measured is what is served.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag import checking
from rag.clock import Clock, Step
from rag.corpus import Corpus
from rag.errors import ConfigError
from rag.finals import awaited
from rag.packing import hits
from rag.rankings import DIGITS, NOTHING, Rankings, merged
from rag.reading import Prepared, Reading
from rag.records import Allowed, Answer, Document, Query, Ranking, Reply, Sought, Span, Vectors
from rag.roles import (
    Chunker,
    Embedder,
    Fusion,
    Generator,
    Inspection,
    Reranker,
    Rewriter,
    Searcher,
    Selector,
    changes_nothing,
)

SUBQUERY_K = 60
"""The constant of reciprocal rank fusion (Cormack et al. 2009) between the texts that one question is searched for by."""


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


def rewrite(rewriter: Rewriter, queries: Sequence[Query]) -> list[Sought]:
    """What is searched for; ConfigError where a rewriter leaves a question without a text."""
    found = rewriter.rewrite(queries)
    if len(found) != len(queries) or not all(sought.texts for sought in found):
        raise ConfigError("queries", "gave no text for a question", "one text or more for each")
    return found


def gathered(rankings: Rankings, sought: Sequence[Sought], depth: int) -> Rankings:
    """One ranking per question from one per text, those of several texts fused by reciprocal rank."""
    counts = [len(one.texts) for one in sought]
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


@dataclass(frozen=True)
class Trace:
    """What was searched for, and where each passage came from: rankings of one question after every step."""

    sought: Sought
    indexes: Mapping[str, Rankings]
    fused: Rankings
    reranked: Rankings
    selected: Rankings


def _trace(
    sought: Sought, row: int, found: Mapping[str, Rankings], fused: Rankings, reranked: Rankings, selected: Rankings
) -> Trace:
    indexes = {name: rankings.only(row) for name, rankings in found.items()}
    first = fused.only(row)
    second = first if reranked is fused else reranked.only(row)
    return Trace(sought, indexes, first, second, second if selected is reranked else selected.only(row))


@dataclass(frozen=True)
class Pipeline:
    """Roles and an opened corpus: everything that one question needs.

    Where `allowed` is given, nothing else of the corpus is found.
    """

    corpus: Corpus
    searchers: Mapping[str, Searcher]
    uses_vectors: Mapping[str, bool]
    queries: Rewriter
    embedder: Embedder
    fusion: Fusion
    reranker: Reranker
    selector: Selector
    reading: Reading
    generator: Generator
    inspections: Mapping[str, Inspection] = field(default_factory=dict)
    depth: int = 100
    rerank_depth: int = 20
    allowed: Allowed | None = None

    @property
    def k(self) -> int:
        """How many passages are read."""
        return self.reading.k

    def trace(self, query: Query) -> Trace:
        """Rewrite, search, fuse, rerank and select for one question."""
        (found,) = self.traces([query])
        return found

    def traces(self, queries: Sequence[Query], clock: Clock | None = None) -> list[Trace]:
        """The same for several questions at once; none of them changes what another one finds."""
        step: Step = clock.step if clock else lambda name: nullcontext()
        with step("rewrite"):
            sought = rewrite(self.queries, queries)
        texts = [text for one in sought for text in one.texts]
        with step("embed"):
            vectors = embed_queries(self.embedder, texts) if any(self.uses_vectors.values()) else None
        with step("search"):
            found = {name: gathered(self._search(name, texts, vectors), sought, self.depth) for name in self.searchers}
        with step("fuse"):
            fused = fuse(self.fusion, found, self.depth)
        with step("rerank"):
            reranked = rerank(self.reranker, [one.question for one in sought], fused, self.corpus, self.rerank_depth)
        with step("select"):
            selected = self._selected(reranked)
        return [_trace(one, row, found, fused, reranked, selected) for row, one in enumerate(sought)]

    def _search(self, name: str, texts: Sequence[str], vectors: Vectors | None) -> Rankings:
        return self.searchers[name].search(texts, vectors if self.uses_vectors[name] else None, self.depth, self.allowed)

    def _selected(self, rankings: Rankings) -> Rankings:
        """What is selected; neighbours of a hit are read only where they are allowed."""
        selected = select(self.selector, rankings, self.corpus)
        return selected if self.allowed is None else selected.within(self.allowed)

    def prepare(self, query: Query, trace: Trace, references: tuple[str, ...] = ()) -> Prepared:
        """What the generator would be given."""
        screened = self.reading.screen([query], trace.selected, self.corpus)
        (prepared,) = self.reading.prepare([query], screened, self.corpus, [references])
        return prepared

    def contexts(self, trace: Trace) -> Ranking:
        """The passages that were found for reading, best first."""
        return hits(self.corpus, trace.selected.first(self.k).row(0))

    def answer(self, query: Query, hear: Callable[[str], None] | None = None) -> Answer:
        """Answer one question; `hear` gets the reply in pieces as they come."""
        return self.answer_from(query, self.trace(query), hear)

    def answer_from(
        self,
        query: Query,
        trace: Trace,
        hear: Callable[[str], None] | None = None,
        references: tuple[str, ...] = (),
        clock: Clock | None = None,
    ) -> Answer:
        """Answer one question from what was found for it; `references` are its gold answers, where they are known.

        Where inspections could change a reply, it is heard when they are done: what a guard takes out is never shown, nor is
        reasoning that a prompt asks for before the answer. It is streamed all the same: who listens can break it off.
        """
        if changes_nothing(self.generator):
            return Answer(query, self.contexts(trace), Reply(""), sought=trace.sought)
        step: Step = clock.step if clock else lambda name: nullcontext()
        with step("prompt"):
            prepared = self.prepare(query, trace, references)
        late = bool(self.inspections or awaited(self.reading.prompt, self.generator))
        with step("generate"):
            checked = self._checked(prepared, (lambda piece: None) if hear and late else hear)
        if hear and (late or prepared.request is None):
            hear(checked.reply.text)
        return answered(query, prepared, checked, trace.sought, self.corpus)

    def _checked(self, prepared: Prepared, hear: Callable[[str], None] | None) -> checking.Checked:
        refusal = self.reading.prompt.refusal
        if prepared.request is None:
            return checking.unasked(refusal, ())
        if hear is None:
            (reply,) = self.generator.generate([prepared.request])
        else:
            reply = _heard(self.generator.stream(prepared.request), hear)
        final = awaited(self.reading.prompt, self.generator)
        (checked,) = checking.check(self.inspections, [prepared.request], [reply], self.generator, refusal, final)
        return checked


def _heard(pieces: Iterator[str], hear: Callable[[str], None]) -> Reply:
    """The reply that a stream ends with, or its pieces where it ends without one."""
    said: list[str] = []
    while True:
        try:
            piece = next(pieces)
        except StopIteration as end:
            return end.value if isinstance(end.value, Reply) else Reply("".join(said))
        hear(piece)
        said.append(piece)


def answered(query: Query, prepared: Prepared, checked: checking.Checked, sought: Sought | None, corpus: Corpus) -> Answer:
    """The answer that a person gets, with all that was noticed on the way."""
    findings = (*prepared.screened.findings, *checked.findings)
    read = hits(corpus, prepared.read, [chunk.span.end for chunk in prepared.chunks])
    left_out = hits(corpus, prepared.left_out)
    return Answer(query, read, checked.reply, findings, checked.abstained, sought, left_out)
