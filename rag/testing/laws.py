"""Common parts of all checks: the report of a broken law, laws of rankings, and difficult texts."""

from collections.abc import Sequence

import numpy as np

from rag.core.rankings import NOTHING, Rankings
from rag.core.types import Document

TRAPS = (
    *("", " ", "\n\n\t \r\n", "\u2028\u2029\u00a0\u0085", "word", "one two. Three four!"),
    "# Title\n\nText.\n\n## Part\n\n- item\n- item",
    "| a | b |\n| --- | --- |\n| 1 | 2 |\n",
    "e\u0301\u0301 \ufb01 \u0130 \u00df",
    "\ufeff\x00 \U0001f469\u200d\U0001f467",
    *("x" * 3000, "?!." * 500, "word " * 1500, "日本語のテキスト。次の文。"),
    "a\r\nb\r\rc\x1cd",
    "Dr. Ames, e.g. 3.50 a day?\r\n\r\n> quoted\r\n",
)
"""Texts that often break components: empty, blank, long, one line, other scripts, control characters."""
READABLE = tuple(text for text in TRAPS if text.strip())
DOCUMENTS = tuple(Document(f"d{number}", text) for number, text in enumerate(TRAPS))


def law(holds: object, sentence: str) -> None:
    """Raise AssertionError with the sentence unless the law holds."""
    if not holds:
        raise AssertionError(sentence)


def lawful(rankings: Rankings, questions: int, most: int, positions: Sequence[set[int]] | None = None) -> None:
    """Check rankings: shapes, types, order by (-score, position), no repeated position, no position outside of `positions`."""
    law(rankings.positions.dtype == np.int32 and rankings.scores.dtype == np.float64, "positions are int32 and scores float64")
    law(rankings.positions.shape == rankings.scores.shape, "positions and scores have one shape")
    law(len(rankings) == questions, "there is one row per question")
    law(rankings.positions.shape[1] <= most, "no row is longer than the depth")
    for question in range(questions):
        hits = rankings.row(question)
        law(hits == sorted(hits, key=lambda hit: (-hit[1], hit[0])), "hits are ordered by (-score, position)")
        law(len({position for position, _ in hits}) == len(hits), "no position is repeated in a ranking")
        law(all(np.isfinite(score) for _, score in hits), "scores are finite")
        law((rankings.positions[question, len(hits) :] == NOTHING).all(), "short rows are filled with NOTHING")
        law(np.isneginf(rankings.scores[question, len(hits) :]).all(), "the scores of NOTHING are -inf")
        if positions is not None:
            law({position for position, _ in hits} <= positions[question], "nothing is found that is not among the candidates")


def same(one: Rankings, other: Rankings) -> bool:
    """True if two rankings are equal to the last bit."""
    return bool(np.array_equal(one.positions, other.positions) and np.array_equal(one.scores, other.scores))
