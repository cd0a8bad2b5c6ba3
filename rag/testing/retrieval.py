"""The laws of loaders, chunkers, passages, embedders, analysers, indexes, fusions, rerankers and selectors."""

import math
import re
from collections.abc import Mapping
from itertools import chain
from typing import Any

import numpy as np

from rag.core.corpus import Corpus
from rag.core.rankings import Rankings
from rag.core.roles import (
    Analyser,
    Chunker,
    Embedder,
    Fusion,
    Index,
    Loader,
    PassageText,
    QuestionSelector,
    Reranker,
    Selector,
    changes_nothing,
)
from rag.core.types import Document, Span, Vectors
from rag.pipeline.search.steps import select
from rag.testing.laws import DOCUMENTS, READABLE, law, lawful, same

TEXTS = (
    "Annual leave is 25 days.",
    "Sick leave: tell us by nine.",
    "the river path",
    "",
    " ",
    "leave leave leave",
    "№ 5 naïve",
)
WORD = re.compile(r"\w+")
QUESTIONS = ("How much leave?", "the river path", "", "zzz qqq")


def check_loader(loader: Loader) -> None:
    """Documents have unique ids and plain metadata, and reading twice gives the same."""
    found = list(loader.load())
    law(found, "a loader yields documents")
    law(all(isinstance(document, Document) for document in found), "a loader yields records of the class Document")
    law(len({document.doc_id for document in found}) == len(found), "every document has an id of its own")
    values = [value for document in found for value in document.metadata.values()]
    law(all(isinstance(value, str | int | float | bool) for value in values), "metadata are texts, numbers or truth values")
    law(list(loader.load()) == found, "reading twice gives the same documents")


def check_chunker(chunker: Chunker) -> None:
    """Spans lie in their document in reading order, cover all but white space, and are the same every time."""
    for document in DOCUMENTS:
        check_chunks(chunker, document)


def check_chunks(chunker: Chunker, document: Document) -> None:
    """The laws of a chunker, for one document."""
    spans, text = chunker.chunk(document), document.text
    covered, last = 0, Span(document.doc_id, 0, 0)
    for span in spans:
        law(span.doc_id == document.doc_id, "a span names its document")
        law(0 <= span.start < span.end <= len(text), "a span lies in its document and is not empty")
        law(text[span.start : span.end].strip(), "a chunk has something to read")
        law(span.start >= last.start and span.end >= last.end, "spans are in reading order")
        law(not text[covered : span.start].strip(), "no character but white space is left out")
        covered, last = max(covered, span.end), span
    law(not text[covered:].strip(), "no character but white space is left out")
    law(len(set(spans)) == len(spans), "no span is repeated")
    law(chunker.chunk(document) == spans, "the same document gives the same spans")


def check_passage(passage: PassageText) -> None:
    """There is one text per chunk, with the words of the chunk, and the same every time."""
    for document in DOCUMENTS:
        half = max(1, len(document.text) // 2)
        spans = [Span(document.doc_id, start, start + half) for start in range(0, len(document.text) - half + 1, half)]
        corpus = Corpus.of([document], spans)
        texts = list(passage.texts(corpus))
        law(len(texts) == len(corpus), "there is one text per chunk")
        for chunk, text in zip(corpus.texts, texts, strict=True):
            law(set(WORD.findall(chunk)) <= set(WORD.findall(text)), "a text has all words of its chunk")
        law(list(passage.texts(corpus)) == texts, "the same chunks give the same texts")
        law(
            (tuple(texts) == corpus.texts) or not changes_nothing(passage),
            "changes_nothing = True gives the chunks as they are",
        )


def check_embedder(embedder: Embedder) -> None:
    """Vectors are finite float32, not zero, and each depends on its own text only."""
    passages = [*READABLE, "", READABLE[0]]
    questions = [text for text in passages if len(text) < 200]
    for embed, texts in ((embedder.embed_documents, passages), (embedder.embed_queries, questions)):
        vectors = embed(texts)
        law(vectors.dtype == np.float32 and vectors.ndim == 2, "vectors are float32 of shape (texts, dimensions)")
        law(len(vectors) == len(texts), "there is one vector per text")
        law(np.isfinite(vectors).all(), "vectors are finite")
        law((np.linalg.norm(vectors, axis=1) > 0).all(), "no vector is zero, not even for an empty text")
        law(np.array_equal(vectors[0], vectors[-1]), "the same text gives the same vector")
        law(np.array_equal(embed(texts[::-1]), vectors[::-1]), "a vector does not depend on the order of the texts")
        alone = np.concatenate([embed([text]) for text in texts])
        law(np.array_equal(alone, vectors), "a vector does not depend on what else is in the batch")
        law(len(embed([])) == 0, "no texts give no vectors")


def check_analyser(analyser: Analyser) -> None:
    """Terms are numbered as they first occur, the same every time, and a question finds the terms of its own text."""
    numbers, terms = analyser.number(TEXTS)
    law(len(numbers) == len(TEXTS), "there is one list of numbers per text")
    law(len(set(terms)) == len(terms), "a term has one number")
    law(list(dict.fromkeys(chain.from_iterable(numbers))) == list(range(len(terms))), "terms are numbered as they first occur")
    law(analyser.number(TEXTS) == (numbers, terms), "the same texts give the same terms")
    for text, row in zip(TEXTS, numbers, strict=True):
        own = {terms[number] for number in row}
        law(set(analyser.terms(text)) == own, "without known terms a question has all terms of its text")
        asked = analyser.terms(text, own)
        law(set(asked) <= own and bool(asked) == bool(own), "a question has terms that the index has, and finds its own text")


def check_index(index: Index) -> None:
    """Rankings are lawful, a smaller depth is a prefix, a question alone is found as among others, builds are equal."""
    law(isinstance(index.uses_vectors, bool), "uses_vectors is True or False")
    chunks, questions = _unit(1, len(TEXTS)), _unit(2, len(QUESTIONS))
    vectors = chunks if index.uses_vectors else None
    arrays = index.build(TEXTS, vectors)
    first, second = (
        {name: np.asarray(a).tobytes() for name, a in one.items()} for one in (arrays, index.build(TEXTS, vectors))
    )
    law(first == second, "the same texts give the same index, byte by byte")
    searcher = index.open(arrays)

    def search(depth: int, first: int = 0, last: int = len(QUESTIONS)) -> Rankings:
        return searcher.search(QUESTIONS[first:last], questions[first:last] if index.uses_vectors else None, depth)

    whole = search(len(TEXTS))
    for depth in (0, 1, 3, len(TEXTS), len(TEXTS) + 9):
        lawful(search(depth), len(QUESTIONS), min(depth, len(TEXTS)), [set(range(len(TEXTS)))] * len(QUESTIONS))
    law(same(search(2), whole.first(2)), "a smaller depth is a prefix of a larger one")
    for row in range(len(QUESTIONS)):
        law(search(len(TEXTS), row, row + 1).row(0) == whole.row(row), "a question alone is found as among others")
    lawful(search(3, 0, 0), 0, 3)
    allowed = np.arange(len(TEXTS)) % 2 == 0
    some = searcher.search(QUESTIONS, questions if index.uses_vectors else None, len(TEXTS), allowed)
    for row in range(len(QUESTIONS)):
        law(some.row(row) == [hit for hit in whole.row(row) if allowed[hit[0]]], "a search keeps to what is allowed")


def check_fusion(fusion: Fusion) -> None:
    """Fused rankings are lawful and have no new positions, and the inputs stay unchanged."""
    rankings = {"one": _rankings(3), "two": _rankings(4)}
    before = {name: (ranking.positions.copy(), ranking.scores.copy()) for name, ranking in rankings.items()}
    known = [{p for ranking in rankings.values() for p, _ in ranking.row(row)} for row in range(len(rankings["one"]))]
    whole = fusion.fuse(rankings, 99)
    for depth in (0, 1, 4, 99):
        found = fusion.fuse(rankings, depth)
        lawful(found, len(known), depth, known)
        law([found.row(row) for row in range(len(found))] == [whole.row(row)[:depth] for row in range(len(whole))], "a prefix")
    for row in range(len(known)):
        one = {name: Rankings.pack([ranking.row(row)]) for name, ranking in rankings.items()}
        law(fusion.fuse(one, 99).row(0) == whole.row(row), "a question alone is fused as among others")
    _untouched(rankings, before)


def check_reranker(reranker: Reranker) -> None:
    """There is one finite score per passage, and it depends on its own question and passages only."""
    passages = [list(TEXTS), [], ["leave", "?", "days"]]
    queries = ["How many days of leave?", "", "leave"]
    scores = [[1.0 / n for n in range(1, len(TEXTS) + 1)], [], [3.0, 2.0, 1.0]]
    found = reranker.score(queries, passages, scores)
    law([len(row) for row in found] == [len(row) for row in passages], "there is one score per passage")
    law(all(type(v) is float and math.isfinite(v) for row in found for v in row), "scores are finite floats")
    law(reranker.score(queries, passages, scores) == found, "the same passages give the same scores")
    alone = [reranker.score([q], [p], [s])[0] for q, p, s in zip(queries, passages, scores, strict=True)]
    law(alone == found, "a question alone is scored as among others")
    if reranker.pairwise:
        pairs = [[reranker.score([q], [[t]], [[0.0]])[0][0] for t in p] for q, p in zip(queries, passages, strict=True)]
        law(pairs == found, "pairwise scores depend on question and passage only")
    law((found == scores) == changes_nothing(reranker), "a reranker that changes no score says changes_nothing = True")


def check_selector(selector: Selector | QuestionSelector) -> None:
    """Hits are dropped, widened if `widens` is True, or ordered anew if `reorders` is True; the inputs stay unchanged."""
    text = "# A\none two\n# B\nthree four\nfive six\n## C\nseven"
    cuts = [Span("d", start, min(start + 6, len(text))) for start in range(0, len(text), 6)]
    corpus = Corpus.of([Document("d", text)], cuts)
    rankings = _rankings(5, len(corpus))
    before = {"in": (rankings.positions.copy(), rankings.scores.copy())}
    questions = READABLE[:1] * len(rankings)
    found = select({"it": selector}, rankings, corpus, questions)
    law(len(found) == len(rankings), "there is one row per question")
    for row in range(len(rankings)):
        given, hits = rankings.row(row), found.row(row)
        law(bool(hits) == bool(given) or isinstance(selector, Selector), "a selector that reads questions leaves a hit")
        law(len({position for position, _ in hits}) == len(hits), "no position is repeated in a ranking")
        law([score for _, score in hits] == sorted((score for _, score in hits), reverse=True), "the best hit is first")
        law(all(0 <= position < len(corpus) for position, _ in hits), "positions lie in the corpus")
        if getattr(selector, "widens", False):
            law({position for position, _ in given} <= {position for position, _ in hits}, "a widening selector loses no hit")
        elif getattr(selector, "reorders", False):
            law({position for position, _ in given} == {position for position, _ in hits}, "a new order keeps all hits")
        else:
            law(set(hits) <= set(given), "nothing is added, and no score changes")
    law(same(select({"it": selector}, rankings, corpus, questions), found), "the same rankings give the same selection")
    _untouched({"in": rankings}, before)


def _unit(seed: int, rows: int) -> Vectors:
    vectors = np.random.default_rng(seed).normal(size=(rows, 16))
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)


def _rankings(seed: int, positions: int = 9) -> Rankings:
    """Rankings of four questions, one of which found nothing; scores repeat."""
    random = np.random.default_rng(seed)
    rows = []
    for size in (0, 1, 4, 7):
        hits = [(int(p), float(random.integers(4))) for p in random.permutation(positions)[:size]]
        rows.append(sorted(hits, key=lambda hit: (-hit[1], hit[0])))
    return Rankings.pack(rows)


def _untouched(rankings: Mapping[str, Rankings], before: Mapping[str, tuple[Any, Any]]) -> None:
    for name, ranking in rankings.items():
        is_same = np.array_equal(ranking.positions, before[name][0]) and np.array_equal(ranking.scores, before[name][1])
        law(is_same, "inputs stay unchanged")
