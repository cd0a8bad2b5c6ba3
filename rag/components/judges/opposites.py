"""Contradictions that word overlap cannot see: `not` on one side only, `before` against `after`, `Rome` instead of `Paris`.

Rules, not a model. They apply only if the passage has most of the clause (SAME), so that a `not` about another matter is no
contradiction, and if no passage with as much of the clause agrees with it.
"""

from collections.abc import Mapping, Sequence
from itertools import takewhile
from math import fsum

import numpy as np
from numpy.typing import NDArray

from rag.components.judges.passages import Passages, Sentence, clauses
from rag.core.text.values.words import Word, words

SAME = 0.6
"""The least share of a clause's weight in a passage about the same matter."""
PAIRS = (
    "before after|above below|more less|more fewer|most least|maximum minimum|increase decrease|increase reduce|rise fall|"
    "rose fell|gain lose|win lose|won lost|accept reject|allow forbid|allow prohibit|include exclude|earlier later|north south|"
    "northern southern|eastern western|male female|true false|always never|all none|everyone nobody|required optional|"
    "mandatory optional|must may|paid unpaid|legal illegal|possible impossible|success failure|succeed fail|enable disable|"
    "buy sell|bought sold|add remove|hot cold|higher lower|larger smaller|older newer|older younger|morning evening|"
    "with without|upper lower|inside outside"
)


def _opposites() -> dict[str, frozenset[str]]:
    pairs: dict[str, set[str]] = {}
    for pair in PAIRS.split("|"):
        one, two = (words(word)[0].stem for word in pair.split())
        pairs.setdefault(one, set()).add(two)
        pairs.setdefault(two, set()).add(one)
    return {stem: frozenset(others) for stem, others in pairs.items()}


OPPOSITES = _opposites()


def contradicting(claim: str, passages: Passages) -> tuple[str, ...]:
    """The stems in which a claim and its best passage contradict each other; empty if they agree."""
    whole = words(claim)
    parts = ([word for word in whole if start <= word.start < end] for start, end in clauses(claim))
    return tuple(dict.fromkeys(stem for claimed in parts for stem in _contradicted(claimed, whole, passages)))


def _contradicted(claimed: Sequence[Word], whole: Sequence[Word], passages: Passages) -> list[str]:
    weights = {word.stem: passages.rarity(word.stem) for word in claimed if word.meaning and word.kind != "negation"}
    if len(weights) < 2:
        return []
    agreeing, opposing, contradicted, total = 0.0, 0.0, list[str](), sum(weights.values())
    for sentence in passages.sentences:
        held = sum(weight for stem, weight in weights.items() if stem in sentence.stems) / total
        if held < SAME or held < max(agreeing, opposing):
            continue
        if against := _against(claimed, whole, _nearest(sentence, weights), sentence):
            opposing, contradicted = (held, against) if held > opposing else (opposing, contradicted)
        else:
            agreeing = held
    return contradicted if opposing > agreeing else []


def _nearest(sentence: Sentence, weights: Mapping[str, float]) -> list[Word]:
    """The words of the clause of a sentence with the most weight: negations in other clauses do not count."""
    cut = ([word for word in sentence.words if start <= word.start < end] for start, end in clauses(sentence.text))
    # Exact sums: the order of a set, and with it the rounding, differs from process to process.
    return max(cut, key=lambda part: fsum(weights.get(stem, 0.0) for stem in {word.stem for word in part}))


def _against(claimed: Sequence[Word], whole: Sequence[Word], passage: Sequence[Word], sentence: Sentence) -> list[str]:
    """Negations on one side only, and words with their opposite on the other side. A negation counts in any clause there."""
    ours, theirs = _negations(claimed), _negations(passage)
    if (ours and not _negations(sentence.words)) or (theirs and not _negations(whole)):
        return ours or theirs
    here, there = {word.stem for word in claimed}, {word.stem for word in passage}
    return sorted(stem for stem in here - there if OPPOSITES.get(stem, frozenset()) & (there - here))


def _negations(claimed: Sequence[Word]) -> list[str]:
    return [word.stem for word in claimed if word.kind == "negation"]


AROUND = 3
"""The fewest equal words with a meaning around a word, on both sides together."""
UNLIKE = 0.4
"""The greatest similarity of a word to its nearest word in the passage that counts as another meaning."""
FACTS = ("number", "month", "name")


def substituted(claimed: Sequence[Word], passages: Passages) -> list[Word]:
    """The words of a claim, in order, for which a context has another word.

    A word that a context has near one of its two neighbours is not substituted, and an added word is none. A text that copies
    no words has none.
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
    """The substituted words that change the meaning; `similar` is the greatest similarity of each piece of the claim.

    A name, number or month does; another word only if its meaning differs: `purchased` for `bought` is a paraphrase.
    """
    return [word for word in substitutes if word.kind in FACTS or _similarity(word, pieces, similar) <= UNLIKE]


def _similarity(word: Word, pieces: Sequence[tuple[int, int]], similar: NDArray[np.float64]) -> float:
    own = (float(value) for (start, end), value in zip(pieces, similar, strict=False) if word.start < end and start < word.end)
    return min(own, default=1.0)
