"""Substituted words in a near copy: `Rome` instead of `Paris`, with the same words around it.

A substituted name, number or month changes a fact. Any other word does so only if its meaning differs: `purchased` for `bought`
is a paraphrase. An added word is no substitution, and a text that copies no words has none.
"""

from collections.abc import Sequence
from itertools import takewhile

import numpy as np
from numpy.typing import NDArray

from rag.components.judges.passages import Passages
from rag.core.text.values.words import Word

AROUND = 3
"""The fewest equal words with a meaning around a word, on both sides together."""
UNLIKE = 0.4
"""The greatest similarity of a word to its nearest word in the passage that counts as another meaning."""
FACTS = ("number", "month", "name")


def substituted(claimed: Sequence[Word], passages: Passages) -> list[Word]:
    """The words of a claim, in order, for which a context has another word.

    A word that a context has near one of its two neighbours is not substituted.
    """
    words = [word for word in claimed if word.meaning]
    stems = [word.stem for word in words]
    return [words[place] for place in range(1, len(words) - 1) if _replaces(stems, place, passages)]


def _replaces(stems: Sequence[str], place: int, passages: Passages) -> bool:
    before, own, after = stems[place - 1 : place + 2]
    if passages.near(before, own) or passages.near(own, after):
        return False
    return any(_around(stems, place, *there) >= AROUND for there in passages.between(before, after))


def _around(ours: Sequence[str], here: int, theirs: Sequence[str], there: int) -> int:
    """The number of equal words in a row before and after the two places."""
    before = zip(reversed(ours[:here]), reversed(theirs[:there]), strict=False)
    behind = zip(ours[here + 1 :], theirs[there + 1 :], strict=False)
    return sum(sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs)) for pairs in (before, behind))


def changing(substitutes: Sequence[Word], pieces: Sequence[tuple[int, int]], similar: NDArray[np.float64]) -> list[Word]:
    """The substituted words that change the meaning; `similar` is the greatest similarity of each piece of the claim."""
    return [word for word in substitutes if word.kind in FACTS or _similarity(word, pieces, similar) <= UNLIKE]


def _similarity(word: Word, pieces: Sequence[tuple[int, int]], similar: NDArray[np.float64]) -> float:
    own = (float(value) for (start, end), value in zip(pieces, similar, strict=False) if word.start < end and start < word.end)
    return min(own, default=1.0)
