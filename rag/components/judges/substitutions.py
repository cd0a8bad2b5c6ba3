"""Words of a near copy that stand where its source has another word: `Rome` for `Paris`, with the same words around.

A name, a number or a month in the place of another word is a change of fact. Any other word is one only if it means something
else there: `purchased` for `bought` is a paraphrase. An added word is no substitution, and text that copies no words has none.
"""

from collections.abc import Sequence
from itertools import takewhile

import numpy as np
from numpy.typing import NDArray

from rag.components.judges.passages import Passages
from rag.components.judges.words import Word

AROUND = 3
"""Words with a meaning next to a word, on both sides together, that must be the same in the source."""
UNLIKE = 0.4
"""The similarity of a word to its nearest in the passage, up to which it means something else."""
FACTS = ("number", "month", "name")


def substituted(said: Sequence[Word], passages: Passages) -> list[Word]:
    """The words of a claim, in order, in whose place a context has another one.

    A word that a context holds near one of its two neighbours is in its own place.
    """
    told = [word for word in said if word.meaning]
    stems = [word.stem for word in told]
    return [told[place] for place in range(1, len(told) - 1) if _replaces(stems, place, passages)]


def _replaces(stems: Sequence[str], place: int, passages: Passages) -> bool:
    before, own, after = stems[place - 1 : place + 2]
    if (before, own) in passages.near or (own, after) in passages.near:
        return False
    return any(_around(stems, place, *there) >= AROUND for there in passages.between.get((before, after), ()))


def _around(ours: Sequence[str], here: int, theirs: Sequence[str], there: int) -> int:
    """How many words in a row are the same before the two places and behind them."""
    before = zip(reversed(ours[:here]), reversed(theirs[:there]), strict=False)
    behind = zip(ours[here + 1 :], theirs[there + 1 :], strict=False)
    return sum(sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs)) for pairs in (before, behind))


def changing(found: Sequence[Word], pieces: Sequence[tuple[int, int]], similar: NDArray[np.float64]) -> list[Word]:
    """Those of the substituted words that change what is said; `similar` is how near each piece of the claim has its like."""
    return [word for word in found if word.kind in FACTS or _similarity(word, pieces, similar) <= UNLIKE]


def _similarity(word: Word, pieces: Sequence[tuple[int, int]], similar: NDArray[np.float64]) -> float:
    own = (float(value) for (start, end), value in zip(pieces, similar, strict=False) if word.start < end and start < word.end)
    return min(own, default=1.0)
