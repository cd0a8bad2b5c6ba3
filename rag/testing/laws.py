"""What all checks share: how a broken law is reported, and texts that break careless code."""

from collections.abc import Sequence

import numpy as np

from rag.core.rankings import NOTHING, Rankings
from rag.core.records import Document

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
"""Texts that often break a component: empty, blank, long, one line, other scripts, control characters."""
READABLE = tuple(text for text in TRAPS if text.strip())
DOCUMENTS = tuple(Document(f"d{number}", text) for number, text in enumerate(TRAPS))


def law(holds: object, sentence: str) -> None:
    """Raise AssertionError with the law that is broken."""
    if not holds:
        raise AssertionError(sentence)


def lawful(found: Rankings, questions: int, most: int, positions: Sequence[set[int]] | None = None) -> None:
    """Check rankings: shapes, types, order by (-score, position), no position twice, nothing from elsewhere."""
    law(found.positions.dtype == np.int32 and found.scores.dtype == np.float64, "positions are int32 and scores float64")
    law(found.positions.shape == found.scores.shape, "positions and scores have one shape")
    law(len(found) == questions, "there is one row per question")
    law(found.positions.shape[1] <= most, "no row is longer than was asked for")
    for question in range(questions):
        hits = found.row(question)
        law(hits == sorted(hits, key=lambda hit: (-hit[1], hit[0])), "hits are ordered by (-score, position)")
        law(len({position for position, _ in hits}) == len(hits), "no position stands twice in a ranking")
        law(all(np.isfinite(score) for _, score in hits), "scores are finite")
        law((found.positions[question, len(hits) :] == NOTHING).all(), "rows are filled up with NOTHING")
        law(np.isneginf(found.scores[question, len(hits) :]).all(), "the scores of NOTHING are -inf")
        if positions is not None:
            law({position for position, _ in hits} <= positions[question], "nothing is found that was not there")


def same(one: Rankings, other: Rankings) -> bool:
    """Whether two rankings are equal, to the last digit."""
    return bool(np.array_equal(one.positions, other.positions) and np.array_equal(one.scores, other.scores))
