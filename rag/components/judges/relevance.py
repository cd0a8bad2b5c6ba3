"""How far a text speaks to a question, by what both are about: vectors of its sentences, and the words that they share.

It tells texts on the matter from texts on another one; whether the text gives the answer it cannot tell.
"""

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from rag.components.judges.mix import mixed
from rag.components.judges.passages import TokenEncoder
from rag.components.judges.words import words
from rag.core.records import Vectors
from rag.core.text.sentences import blocks, sentences

Floats = NDArray[np.float64]
NAMES = ("cosine", "words")
"""What is measured: the greatest cosine of the question with the text or a sentence of it, and the share of its words there."""
MOST = 2
"""How many sentences of a text are compared, those that share the most words with the question: vectors of all take longest."""


def related(pairs: Sequence[tuple[str, str]], encoder: TokenEncoder, weights: Mapping[str, float]) -> list[float]:
    """The relevance of each text to its question, in [0, 1]: 0 where either has no word to compare."""
    measures = measured(pairs, encoder)
    values = np.where(np.isnan(measures).any(axis=1), 0.0, mixed(np.nan_to_num(measures), NAMES, weights))
    return [float(value) for value in values]


def measured(pairs: Sequence[tuple[str, str]], encoder: TokenEncoder) -> Floats:
    """What is measured of each (question, text), shape (pairs, NAMES), in [0, 1]; NaN where one of them says nothing."""
    wanted = {question: _stems(question) for question, _ in pairs}
    parts = [pieces(text, wanted[question]) if wanted[question] else [] for question, text in pairs]
    asked = list(dict.fromkeys(question for (question, _), own in zip(pairs, parts, strict=True) if own))
    told = list(dict.fromkeys(piece for own in parts for piece in own))
    found = np.full((len(pairs), len(NAMES)), np.nan)
    if not told:
        return found
    # All at once: an embedder whose vectors are stored writes one entry per call.
    ours, theirs = _unit(encoder.embed_queries(asked)), _unit(encoder.embed_documents(told))
    question_row, piece_row = ({text: row for row, text in enumerate(texts)} for texts in (asked, told))
    for number, ((question, text), own) in enumerate(zip(pairs, parts, strict=True)):
        if own:
            cosine = float((theirs[[piece_row[piece] for piece in own]] @ ours[question_row[question]]).max())
            shared = len(wanted[question] & _stems(text)) / len(wanted[question])
            found[number] = max(0.0, min(1.0, cosine)), shared
    return found


def pieces(text: str, wanted: Collection[str]) -> list[str]:
    """The text and its MOST sentences with the most of the words, each once; nothing of a text without a word."""
    if not words(text):
        return []
    spans = (span for block in blocks(text) for span in sentences(text, block))
    shared = [(len(_stems(own) & set(wanted)), own) for own in (text[start:end] for start, end in spans)]
    return list(dict.fromkeys([text, *(own for count, own in sorted(shared, key=lambda one: -one[0])[:MOST] if count)]))


@lru_cache(maxsize=1 << 14)
def _stems(text: str) -> frozenset[str]:
    return frozenset(word.stem for word in words(text) if word.meaning)


def _unit(vectors: Vectors) -> Floats:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: Floats = vectors / np.maximum(lengths, 1e-12)
    return unit
