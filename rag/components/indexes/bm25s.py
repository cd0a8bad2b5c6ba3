"""BM25 scored when the index is built, with the library bm25s."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from rag.components.indexes.terms import Postings, WordSearcher
from rag.core.checks import check_choice, check_number
from rag.core.roles import Analyser
from rag.core.types import Arrays, Vectors

METHODS = ("lucene", "robertson", "atire", "bm25l", "bm25+")


class Bm25sIndex:
    """BM25 in the variants of Kamphuis et al. (ECIR 2020), over the terms of an analyser.

    With `lucene`, k1 = 1.2, b = 0.75, English stems without stop words it reaches nDCG@10 .696 on the training claims of
    SciFact.
    """

    uses_vectors: ClassVar[bool] = False

    def __init__(
        self, analyser: Analyser, k1: float = 1.2, b: float = 0.75, method: str = "lucene", delta: float = 0.5
    ) -> None:
        check_number("index.bm25s.k1", k1, 0, hint="0.9 to 2 is usual")
        check_number("index.bm25s.b", b, 0, 1, "0 ignores the length, 1 normalises it fully")
        check_choice("index.bm25s.method", method, METHODS)
        check_number("index.bm25s.delta", delta, 0, hint="0.5 is usual")
        self.analyser, self.k1, self.b, self.method, self.delta = analyser, k1, b, method, delta

    def build(self, texts: Sequence[str], vectors: Vectors | None) -> Arrays:
        """Score every (term, chunk) pair that occurs; `vectors` are not read."""
        from bm25s import BM25

        numbers, terms = self.analyser.number(texts)
        if not terms:
            return Postings.none(len(texts)).arrays()
        model = BM25(self.k1, self.b, self.delta, self.method)
        vocabulary = {term: number for number, term in enumerate(terms)}
        model.index((numbers, vocabulary), create_empty_token=False, show_progress=False)
        built, absent = model.scores, model.nonoccurrence_array
        absent = np.zeros(len(terms), np.float32) if absent is None else absent
        return Postings(tuple(terms), built["indptr"], built["indices"], built["data"], absent, len(texts)).arrays()

    def open(self, arrays: Arrays) -> WordSearcher:
        """Make built arrays searchable; DataError for arrays that are not valid postings."""
        return WordSearcher(self.analyser, Postings.of(arrays, "index.bm25s"))
