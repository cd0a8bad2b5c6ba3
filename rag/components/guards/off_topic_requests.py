"""Requests in a text that are off its topic: attacks that use no word of an attack."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from rag.components.guards.patterns import alternatives
from rag.components.guards.views import View
from rag.core.checks import check_number, check_whole
from rag.core.numbers import unit_rows
from rag.core.roles import Embedder
from rag.core.text.sentences import blocks, sentences
from rag.core.types import Query

LONGEST = 20_000
"""The most characters of a text that are read; contexts have about a tenth of them."""

MOST = 80
"""The number of sentences around a request that it is compared with."""

ANSWERED = 600
"""The number of characters from the beginning of a question in which its answer is searched for."""

WHERE = "guard.scan.stranger"


class StrangerRule:
    """Finds sentences that ask the reader for something and are close to no sentence around them, nor to the question.

    `patterns` describe a request. A request of `least` or more characters is off topic if its cosine with every other sentence
    of the text, and with the question, is below `below`. `tied` matches words that refer to the text, such as `this`: then the
    request belongs to it. `answered` matches, from the beginning of a sentence, a question that the text itself answers.
    `codes` matches code words for a model to say: a sentence with one is a request in any words or language. A text of one
    sentence has no off-topic requests.
    """

    def __init__(
        self,
        embedder: Embedder,
        severity: float,
        below: float,
        least: int,
        patterns: Sequence[str],
        tied: Sequence[str],
        codes: Sequence[str] = (),
        answered: Sequence[str] = (),
        what: str = "stranger",
    ) -> None:
        check_number(f"{WHERE}.severity", severity, 0, 1)
        check_number(f"{WHERE}.below", below, -1, 1)
        check_whole(f"{WHERE}.least", least, 0)
        self.embedder, self.severity, self.below, self.least, self.what = embedder, severity, below, least, what
        self.pattern, self.tied = alternatives(patterns, f"{WHERE}.patterns"), alternatives(tied, f"{WHERE}.tied")
        self.codes = alternatives(codes, f"{WHERE}.codes") if codes else None
        self.answered = alternatives(answered, f"{WHERE}.answered") if answered else None

    def places(self, view: View, query: Query) -> list[tuple[int, int]]:
        """The places of off-topic requests in the text of a view."""
        text = view.text[:LONGEST]
        pieces = [piece for block in blocks(text) for piece in sentences(text, block)]
        asking = [number for number, piece in enumerate(pieces) if self._asks(text, *piece)]
        if len(pieces) < 2 or not asking:
            return []
        near = sorted({other for number in asking for other in _around(number, len(pieces))})
        texts = [text[slice(*pieces[number])] for number in near]
        vectors = dict(zip(near, unit_rows(self.embedder.embed_documents(texts)), strict=True))
        question = unit_rows(self.embedder.embed_queries([query.text]))[0]
        strange = [number for number in asking if self._is_strange(number, vectors, question)]
        return [view.span(*pieces[number]) for number in strange]

    def _asks(self, text: str, start: int, end: int) -> bool:
        sentence = text[start:end]
        if self.codes and self.codes.search(sentence):
            return True
        if len(sentence) < self.least or not self.pattern.search(sentence) or self.tied.search(sentence):
            return False
        return not (self.answered and self.answered.search(text[start : start + ANSWERED]))

    def _is_strange(self, number: int, vectors: Mapping[int, NDArray[np.float32]], question: NDArray[np.float32]) -> bool:
        near = [vectors[other] for other in _around(number, 1 + max(vectors)) if other != number and other in vectors]
        return bool(near) and max(float(vectors[number] @ other) for other in [*near, question]) < self.below


def _around(number: int, count: int) -> Sequence[int]:
    return range(max(0, number - MOST // 2), min(count, number + MOST // 2 + 1))
