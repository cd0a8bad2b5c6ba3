"""Okapi BM25 as the library rank_bm25 defines it."""

from collections import Counter
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from rag.components.indexes.terms import Postings, WordSearcher
from rag.core.checks import check_number
from rag.core.roles import Analyser
from rag.core.types import Arrays, Vectors


class Bm25Index:
    """BM25Okapi of rank_bm25 over the terms of an analyser.

    Its idf is log((N - n + 0.5) / (n + 0.5)); a term in more than half of the chunks gets `epsilon` times the mean idf
    instead, which can be negative. So a hit is a chunk with at least one term of the question, with any score.
    """

    uses_vectors: ClassVar[bool] = False

    def __init__(self, analyser: Analyser, k1: float = 1.5, b: float = 0.75, epsilon: float = 0.25) -> None:
        check_number("index.bm25.k1", k1, 0, hint="0.9 to 2 is usual")
        check_number("index.bm25.b", b, 0, 1, "0 ignores the length, 1 normalises it fully")
        check_number("index.bm25.epsilon", epsilon, 0, hint="0.25 is usual")
        self.analyser, self.k1, self.b, self.epsilon = analyser, k1, b, epsilon

    def build(self, texts: Sequence[str], vectors: Vectors | None) -> Arrays:
        """Score every (term, chunk) pair that occurs; `vectors` are not read."""
        from rank_bm25 import BM25Okapi

        numbers, terms = self.analyser.number(texts)
        if not terms:
            return Postings.none(len(texts)).arrays()
        model = BM25Okapi(numbers, k1=self.k1, b=self.b, epsilon=self.epsilon)
        # The library scores every chunk again for every question; here each pair is scored once.
        counts = [Counter(row) for row in numbers]
        chunk = np.repeat(np.arange(len(texts), dtype=np.int32), [len(row) for row in counts])
        term = np.array([number for row in counts for number in row])
        times = np.array([value for row in counts for value in row.values()])
        length = np.array(model.doc_len)[chunk]
        idf = np.array([model.idf[number] for number in range(len(terms))])
        weights = idf[term] * (times * (self.k1 + 1) / (times + self.k1 * (1 - self.b + self.b * length / model.avgdl)))
        order = np.argsort(term, kind="stable")
        starts = np.searchsorted(term[order], np.arange(len(terms) + 1))
        return Postings(tuple(terms), starts, chunk[order], weights[order], np.zeros(len(terms)), len(texts)).arrays()

    def open(self, arrays: Arrays) -> WordSearcher:
        """Make built arrays searchable; DataError for arrays that are not valid postings."""
        return WordSearcher(self.analyser, Postings.of(arrays, "index.bm25"))
