"""The relevance of a text to a question by topic: vectors of its sentences, and shared words.

It separates texts on the topic from texts on other topics; it cannot tell whether a text has the answer.
"""

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from rag.components.judges.mix import mixed
from rag.core.encoded_passages import TokenEncoder
from rag.core.numbers import unit_rows
from rag.core.text.sentences import blocks, sentences
from rag.core.text.values.words import words

Floats = NDArray[np.float64]
NAMES = ("cosine", "words")
"""The measures: the greatest cosine of the question with the text or a sentence of it, and the share of its words there."""
MOST = 2
"""The number of sentences of a text whose vectors are compared: those that share the most words with the question."""


def related(pairs: Sequence[tuple[str, str]], encoder: TokenEncoder, weights: Mapping[str, float]) -> list[float]:
    """The relevance of each text to its question in [0, 1]; 0 if one of them has no word to compare."""
    measures = measured(pairs, encoder)
    values = np.where(np.isnan(measures).any(axis=1), 0.0, mixed(np.nan_to_num(measures), NAMES, weights))
    return [float(value) for value in values]


def measured(pairs: Sequence[tuple[str, str]], encoder: TokenEncoder) -> Floats:
    """The measures of each (question, text), shape (pairs, NAMES), in [0, 1]; NaN if one of them has no word to compare."""
    wanted = {question: _stems(question) for question, _ in pairs}
    parts = [pieces(text, wanted[question]) if wanted[question] else [] for question, text in pairs]
    asked = list(dict.fromkeys(question for (question, _), own in zip(pairs, parts, strict=True) if own))
    compared = list(dict.fromkeys(piece for own in parts for piece in own))
    measures = np.full((len(pairs), len(NAMES)), np.nan)
    if not compared:
        return measures
    # One batch: an embedder with stored vectors writes one entry per call.
    ours, theirs = unit_rows(encoder.embed_queries(asked)), unit_rows(encoder.embed_documents(compared))
    question_row, piece_row = ({text: row for row, text in enumerate(texts)} for texts in (asked, compared))
    for number, ((question, text), own) in enumerate(zip(pairs, parts, strict=True)):
        if own:
            cosine = float((theirs[[piece_row[piece] for piece in own]] @ ours[question_row[question]]).max())
            shared = len(wanted[question] & _stems(text)) / len(wanted[question])
            measures[number] = max(0.0, min(1.0, cosine)), shared
    return measures


def pieces(text: str, wanted: Collection[str]) -> list[str]:
    """The text and its MOST sentences with the most of the wanted words, each once; empty for a text without words."""
    if not words(text):
        return []
    spans = (span for block in blocks(text) for span in sentences(text, block))
    shared = [(len(_stems(own) & set(wanted)), own) for own in (text[start:end] for start, end in spans)]
    return list(dict.fromkeys([text, *(own for count, own in sorted(shared, key=lambda scored: -scored[0])[:MOST] if count)]))


@lru_cache(maxsize=1 << 14)
def _stems(text: str) -> frozenset[str]:
    return frozenset(word.stem for word in words(text) if word.meaning)
