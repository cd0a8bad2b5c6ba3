"""Contradictions that word overlap cannot see: `not` on one side only, `before` here and `after` there.

Rules, not a model. They speak only where the passage says most of the clause (SAME), so that a `not` about something else is
no contradiction, and they are silent where another passage says as much and agrees.
"""

from collections.abc import Mapping, Sequence
from math import fsum

from rag.components.judges.assertions import clauses
from rag.components.judges.passages import Passages, Sentence
from rag.components.judges.words import Word, words

SAME = 0.6
"""The share of a clause's weight that a passage must hold to be about the same thing."""
PAIRS = (
    "before after|above below|more less|more fewer|most least|maximum minimum|increase decrease|increase reduce|rise fall|"
    "rose fell|gain lose|win lose|won lost|accept reject|allow forbid|allow prohibit|include exclude|earlier later|north south|"
    "northern southern|eastern western|male female|true false|always never|all none|everyone nobody|required optional|"
    "mandatory optional|must may|paid unpaid|legal illegal|possible impossible|success failure|succeed fail|enable disable|"
    "buy sell|bought sold|add remove|hot cold|higher lower|larger smaller|older newer|older younger|morning evening|"
    "with without|upper lower|inside outside"
)


def _opposites() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for pair in PAIRS.split("|"):
        one, two = (words(word)[0].stem for word in pair.split())
        found.setdefault(one, set()).add(two)
        found.setdefault(two, set()).add(one)
    return {stem: frozenset(others) for stem, others in found.items()}


OPPOSITES = _opposites()


def contradicting(claim: str, passages: Passages) -> tuple[str, ...]:
    """The stems, of a claim or of its best passage, in which the two contradict each other; empty where they agree."""
    whole = words(claim)
    parts = ([word for word in whole if start <= word.start < end] for start, end in clauses(claim))
    return tuple(dict.fromkeys(stem for said in parts for stem in _contradicted(said, whole, passages)))


def _contradicted(said: Sequence[Word], whole: Sequence[Word], passages: Passages) -> list[str]:
    weights = {word.stem: passages.rarity(word.stem) for word in said if word.meaning and word.kind != "negation"}
    if len(weights) < 2:
        return []
    agreeing, opposing, found = 0.0, 0.0, list[str]()
    for sentence in passages.sentences:
        held = sum(weight for stem, weight in weights.items() if stem in sentence.stems) / sum(weights.values())
        if held < SAME or held < max(agreeing, opposing):
            continue
        if against := _against(said, whole, _nearest(sentence, weights), sentence):
            opposing, found = (held, against) if held > opposing else (opposing, found)
        else:
            agreeing = held
    return found if opposing > agreeing else []


def _nearest(sentence: Sentence, weights: Mapping[str, float]) -> list[Word]:
    """The words of the clause of a sentence that is about the same thing: what it denies elsewhere is no matter."""
    cut = ([word for word in sentence.words if start <= word.start < end] for start, end in clauses(sentence.text))
    # Exact sums: in what order a set is read differs from process to process, and rounding with it.
    return max(cut, key=lambda part: fsum(weights.get(stem, 0.0) for stem in {word.stem for word in part}))


def _against(said: Sequence[Word], whole: Sequence[Word], passage: Sequence[Word], sentence: Sentence) -> list[str]:
    """What stands on one side only, or there as its opposite. A negation may stand in any clause of the other side."""
    ours, theirs = _negations(said), _negations(passage)
    if (ours and not _negations(sentence.words)) or (theirs and not _negations(whole)):
        return ours or theirs
    here, there = {word.stem for word in said}, {word.stem for word in passage}
    return sorted(stem for stem in here - there if OPPOSITES.get(stem, frozenset()) & (there - here))


def _negations(said: Sequence[Word]) -> list[str]:
    return [word.stem for word in said if word.kind == "negation"]
