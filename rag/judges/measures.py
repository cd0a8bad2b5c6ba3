"""What is measured of a claim against its contexts."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rag.claims import Passage
from rag.judges.late import piece_weights, similarities, weakest_clause
from rag.judges.opposites import contradicting
from rag.judges.passages import Passages, TokenEncoder
from rag.judges.words import Word, words

SIGNS: Mapping[str, int] = {"clause": 1, "passage": 1, "numbers": -1, "names": -1}
"""What is fitted: more of it raises support, or lowers it."""
CONTRADICTION, QUOTED = "contradiction", "quoted"
MEASURES = (*SIGNS, CONTRADICTION, QUOTED)
NEARLY = 0.95
"""The share of the best passage's worth at which a shorter one is shown instead."""


@dataclass(frozen=True)
class Measured:
    """The measures of a claim, in the order of MEASURES, each in [0, 1]; where its evidence stands, and what it lacks."""

    values: tuple[float, ...]
    evidence: tuple[Passage, ...]
    lacking: tuple[str, ...]


def measure(claim: str, passages: Passages, encoder: TokenEncoder, most: int) -> Measured:
    """Hold a claim against passages; vectors are compared with the `most` sentences that share the rarest words with it.

    Of n numbers (or dates) that no passage has, `numbers` is n / (n + 1), so that the first one costs most; `names` likewise.
    A claim without a word that could be looked for, such as `Yes.`, measures NaN, unless it is quoted.
    """
    said = words(claim)
    if where := passages.quoting(said):
        return Measured((1.0, 1.0, 0.0, 0.0, 0.0, 1.0), (where,), ())
    if not any(word.meaning for word in said):
        return Measured((math.nan,) * len(MEASURES), (), ())
    if not passages.sentences:
        return Measured((0.0, 0.0, *_absences(said, passages), 0.0, 0.0), (), _lacking(claim, said, passages))
    weights = {word.stem: passages.rarity(word.stem) for word in said if word.meaning}
    recalls = passages.recalls(weights)
    read = np.sort(np.argsort(-recalls[0], kind="stable")[:most])
    pieces = encoder.token_offsets(claim)
    pooled = similarities(encoder, claim, passages, read.tolist())
    each = piece_weights(said, passages, pieces[: pooled.shape[1]])
    against = contradicting(claim, passages)
    carried = weakest_clause(claim, said, each, pieces, pooled), float(recalls[-1].max())
    values = (*carried, *_absences(said, passages), float(bool(against)), 0.0)
    return Measured(values, (_best(recalls, passages),), (*_lacking(claim, said, passages), *against))


def _missing(said: Sequence[Word], passages: Passages, kinds: Sequence[str]) -> list[Word]:
    found = {word.stem: word for word in said if word.kind in kinds and word.meaning and word.stem not in passages.stems}
    return list(found.values())


def _absences(said: Sequence[Word], passages: Passages) -> tuple[float, float]:
    numbers = len(_missing(said, passages, ("number", "month")))
    names = len(_missing(said, passages, ("name",)))
    return numbers / (numbers + 1), names / (names + 1)


def _lacking(claim: str, said: Sequence[Word], passages: Passages) -> tuple[str, ...]:
    return tuple(claim[word.start : word.end] for word in _missing(said, passages, ("number", "month", "name")))


def _best(recalls: NDArray[np.float64], passages: Passages) -> Passage:
    """The shortest passage that holds nearly as much of the claim as the best one; the first of equals."""
    enough = NEARLY * recalls.max()
    width = int(np.argmax(recalls.max(axis=1) >= enough))
    return passages.span(int(np.argmax(recalls[width])), width + 1)
