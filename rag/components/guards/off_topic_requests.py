"""Requests in a text that have nothing to do with it: what is left of an attack that uses no word of an attack."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag.components.guards.patterns import GAP, alternatives
from rag.components.guards.views import View
from rag.core.errors import ConfigError, closest
from rag.core.records import Query
from rag.core.roles import Embedder
from rag.core.text.sentences import blocks, sentences

LONGEST = 20_000
"""Characters of a text that are looked at; contexts are a tenth of it."""

MOST = 80
"""Sentences of a text that a request is compared with, those nearest to it."""

ANSWERED = 600
"""Characters from the beginning of a question on in which its answer is looked for."""

NUMBERS = ("severity", "below", "least")
KEYS = ("what", *NUMBERS, "patterns", "tied", "codes", "answered")


class StrangerRule:
    """Finds sentences that ask their reader for something and are close to no other sentence around them, nor to the question.

    `patterns` say what a request looks like. A request of `least` characters or more is strange where its cosine with every
    other sentence of the text, and with the question, is less than `below`. `tied` finds the words that point into the text:
    who asks why this happens speaks of it, however far the words are apart. `answered` finds, from where a sentence begins, a
    question that the text answers itself. `codes` finds words that nobody needs who is not to say them: a sentence with one
    asks for something in whatever words or language, and is strange by its cosines alone. A text of one sentence has no
    strangers.
    """

    def __init__(self, given: Mapping[str, Any], embedder: Embedder, where: str) -> None:
        for name in given:
            if name not in KEYS:
                raise ConfigError(f"{where}.{name}", "is no part of the rule", closest(str(name), KEYS))
        for name in NUMBERS:
            if not isinstance(given.get(name), int | float):
                raise ConfigError(f"{where}.{name}", f"is {given.get(name)!r}", "a number is needed")
        self.what = str(given.get("what", "stranger"))
        self.severity, self.below, self.least = float(given["severity"]), float(given["below"]), int(given["least"])
        self.pattern = alternatives(given.get("patterns") or [], f"{where}.patterns", GAP)
        self.tied = alternatives(given.get("tied") or [], f"{where}.tied", GAP)
        self.codes, self.answered = (
            alternatives(given[name], f"{where}.{name}", GAP) if given.get(name) else None for name in ("codes", "answered")
        )
        self.embedder = embedder

    def places(self, view: View, query: Query) -> list[tuple[int, int]]:
        """Where strange requests stand in the text that a view is made of."""
        text = view.text[:LONGEST]
        pieces = [piece for block in blocks(text) for piece in sentences(text, block)]
        asking = [number for number, piece in enumerate(pieces) if self._asks(text, *piece)]
        if len(pieces) < 2 or not asking:
            return []
        near = sorted({other for number in asking for other in _around(number, len(pieces))})
        said = [text[slice(*pieces[number])] for number in near]
        vectors = dict(zip(near, _unit(self.embedder.embed_documents(said)), strict=True))
        question = _unit(self.embedder.embed_queries([query.text]))[0]
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
        return bool(near) and max(float(vectors[number] @ one) for one in [*near, question]) < self.below


def _around(number: int, count: int) -> Sequence[int]:
    return range(max(0, number - MOST // 2), min(count, number + MOST // 2 + 1))


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: NDArray[np.float32] = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return unit
