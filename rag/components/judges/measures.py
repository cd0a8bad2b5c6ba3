"""The measures of a claim against its contexts."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rag.components.judges.opposites import FACTS, changing, contradicting, substituted
from rag.components.judges.passages import WINDOW, Passages, clauses, following
from rag.core.arrays import Flags, Floats
from rag.core.assessments import QuotedPassage
from rag.core.encoded_passages import TokenEncoder
from rag.core.text.values.words import Word, words

SIGNS: Mapping[str, int] = {"clause": 1, "passage": 1, "pairs": 1, "numbers": -1, "names": -1}
"""The fitted measures: 1 if more of it raises support, -1 if it lowers support."""
CONTRADICTION, CHANGED, QUOTED = "contradiction", "changed", "quoted"
BY_HAND: Mapping[str, int] = {CONTRADICTION: -1, CHANGED: -1}
"""The measures with weights set by hand, because the labels have few of them."""
MEASURES = (*SIGNS, *BY_HAND, QUOTED)
LIGHTEST = 1e-6
"""The content of a claim without a word with a meaning."""
NEARLY = 0.95
"""The share of the best recall from which a shorter passage is shown as evidence."""


@dataclass(frozen=True)
class Measured:
    """The measures of a claim in the order of MEASURES, each in [0, 1], its evidence, and the words that the contexts lack.

    `content` is the total rarity of its words with a meaning: the weight of the claim in its text.
    """

    values: tuple[float, ...]
    evidence: tuple[QuotedPassage, ...] = ()
    lacking: tuple[str, ...] = ()
    content: float = LIGHTEST


def gathered(claims: Sequence[Measured]) -> Floats:
    """The measures of a text, shape (MEASURES,): the means of its claims, weighted by content; NaN if no claim has any."""
    known = [claim for claim in claims if not math.isnan(claim.values[0])]
    if not known:
        return np.full(len(MEASURES), np.nan)
    content = np.array([claim.content for claim in known])
    means: Floats = (content / content.sum()) @ np.array([claim.values for claim in known])
    return means


def measure(claim: str, passages: Passages, encoder: TokenEncoder, most: int) -> Measured:
    """Compare a claim with passages; vectors are compared with the `most` sentences that share the rarest words with it.

    `clause` is the similarity of the weakest clause to its best passage, `passage` the greatest share of the claim's rare words
    in one passage, `pairs` the share of its neighbouring words that are neighbours in a context. For n numbers (or dates) that
    are in no passage, `numbers` is n / (n + 1), so that the first one costs most; `names` likewise. For a claim with a
    substituted word (`rag.components.judges.opposites`) or a contradiction, `changed` is the square of the share of its
    other pairs that are neighbours in a context: near 1 for a near copy, near 0 for a paraphrase. All measures are NaN for a
    claim without a word to compare, such as `Yes.`, unless it is quoted.
    """
    claimed = words(claim)
    weights = {word.stem: passages.rarity(word.stem) for word in claimed if word.meaning}
    content = math.fsum(weights.values()) or LIGHTEST
    if where := passages.quoting(claimed):
        return Measured((1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0), (where,), content=content)
    if not weights:
        return Measured((math.nan,) * len(MEASURES))
    if not passages.sentences:
        values = 0.0, 0.0, 0.0, *_absences(claimed, passages), 0.0, 0.0, 0.0
        return Measured(values, lacking=_lacking(claim, claimed, passages), content=content)
    recalls = passages.recalls(weights)
    read = np.sort(np.argsort(-recalls[0], kind="stable")[:most])
    pieces = encoder.token_offsets(claim)
    pooled = similarities(encoder, claim, passages, read.tolist())
    each = piece_weights(claimed, passages, pieces[: pooled.shape[1]])
    against = contradicting(claim, passages)
    passage = float(recalls[-1].max())
    pairs = following(claimed)
    adjoining = sum(passages.near(*pair, 1) for pair in pairs) / len(pairs) if pairs else passage
    carried = weakest_clause(claim, claimed, each, pieces, pooled), passage, adjoining
    best = pooled[int((pooled @ each).argmax())]
    changed = changing(substituted(claimed, passages), pieces, best)
    altered = _copied(pairs, changed, passages) ** 2 if changed or against else 0.0
    values = (*carried, *_absences(claimed, passages), float(bool(against)), altered, 0.0)
    others = (claim[word.start : word.end] for word in changed)
    lacking = dict.fromkeys((*_lacking(claim, claimed, passages), *against, *others))
    return Measured(values, (_best(recalls, passages),), tuple(lacking), content)


def _copied(pairs: Sequence[tuple[str, str]], changed: Sequence[Word], passages: Passages) -> float:
    """The share of the pairs without a changed word that are neighbours in a context."""
    stems = {word.stem for word in changed}
    others = [pair for pair in pairs if not stems & set(pair)]
    return sum(passages.near(*pair, 1) for pair in others) / max(len(others), 1)


def _missing(claimed: Sequence[Word], passages: Passages, kinds: Sequence[str]) -> list[Word]:
    held = passages.stems
    facts = [word for word in claimed if word.kind in kinds and word.meaning]
    return list({word.stem: word for word in facts if held.isdisjoint({word.stem, *word.also})}.values())


def _absences(claimed: Sequence[Word], passages: Passages) -> tuple[float, float]:
    numbers = len(_missing(claimed, passages, ("number", "month")))
    names = len(_missing(claimed, passages, ("name",)))
    return numbers / (numbers + 1), names / (names + 1)


def _lacking(claim: str, claimed: Sequence[Word], passages: Passages) -> tuple[str, ...]:
    return tuple(claim[word.start : word.end] for word in _missing(claimed, passages, FACTS))


def _best(recalls: Floats, passages: Passages) -> QuotedPassage:
    """The shortest passage with nearly the best recall of the claim; the first of equals."""
    enough = NEARLY * recalls.max()
    width = int(np.argmax(recalls.max(axis=1) >= enough))
    return passages.span(int(np.argmax(recalls[width])), width + 1)


def similarities(encoder: TokenEncoder, claim: str, passages: Passages, read: Sequence[int]) -> Floats:
    """The greatest cosine of each piece of the claim with a piece of each passage of WINDOW sentences.

    Shape (sentences, pieces): row i is the passage that begins at sentence i. Sentences that are not in `read` count as -1.
    """
    (ours,) = encoder.embed_tokens([claim])
    greatest = np.full((len(passages.sentences), len(ours)), -1.0)
    for number, tokens in zip(read, passages.tokens(encoder, read), strict=True):
        if len(tokens) and len(ours):
            greatest[number] = (ours @ tokens.T).max(axis=1)
    contexts = np.array([sentence.where.context for sentence in passages.sentences])
    pooled = greatest.copy()
    for further in range(1, WINDOW):
        same = contexts[further:] == contexts[:-further]
        pooled[:-further][same] = np.maximum(pooled[:-further][same], greatest[further:][same])
    return pooled


def weakest_clause(
    claim: str, claimed: Sequence[Word], weights: Floats, pieces: Sequence[tuple[int, int]], pooled: Floats
) -> float:
    """The least worth of a clause of two or more words: the weighted mean similarity of its pieces in its best passage."""
    if not pooled.size:
        return 0.0
    worths = [_worth(inside, weights, pooled) for inside in _inside(claim, claimed, pieces[: pooled.shape[1]])]
    return float(np.clip(min(worths, default=_worth(np.ones(pooled.shape[1], bool), weights, pooled)), 0.0, 1.0))


def _inside(claim: str, claimed: Sequence[Word], pieces: Sequence[tuple[int, int]]) -> list[Flags]:
    """For each clause of two or more words with a meaning: a mask of the pieces of these words."""
    masks = []
    for start, end in clauses(claim):
        own = [word for word in claimed if word.meaning and start <= word.start < end]
        if len(own) > 1:
            masks.append(np.array([any(word.start < stop and first < word.end for word in own) for first, stop in pieces]))
    return masks


def _worth(inside: Flags, weights: Floats, pooled: Floats) -> float:
    share = weights * inside
    return float((pooled @ share).max() / share.sum()) if share.sum() > 0 else 0.0


def piece_weights(claimed: Sequence[Word], passages: Passages, pieces: Sequence[tuple[int, int]]) -> Floats:
    """The rarity of the word of each piece; 0 for words without meaning and for punctuation."""
    known = [(word.start, word.end, passages.rarity(word.stem)) for word in claimed if word.meaning]
    return np.array([max((rarity for a, b, rarity in known if a < end and start < b), default=0.0) for start, end in pieces])
