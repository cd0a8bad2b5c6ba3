"""Late interaction of a claim with passages: every word piece of the claim is compared with its most similar piece.

Khattab & Zaharia 2020, "ColBERT", with the token vectors of an ordinary sentence model. Here the pieces of the claim are
weighted by the rarity of their words, and the worth of a claim is that of its weakest clause, because one unsupported clause
makes the claim unsupported.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rag.components.judges.passages import WINDOW, Passages, clauses
from rag.core.encoded_passages import TokenEncoder
from rag.core.text.values.words import Word

Floats = NDArray[np.float64]


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


def _inside(claim: str, claimed: Sequence[Word], pieces: Sequence[tuple[int, int]]) -> list[NDArray[np.bool_]]:
    """For each clause of two or more words with a meaning: a mask of the pieces of these words."""
    masks = []
    for start, end in clauses(claim):
        own = [word for word in claimed if word.meaning and start <= word.start < end]
        if len(own) > 1:
            masks.append(np.array([any(word.start < stop and first < word.end for word in own) for first, stop in pieces]))
    return masks


def _worth(inside: NDArray[np.bool_], weights: Floats, pooled: Floats) -> float:
    share = weights * inside
    return float((pooled @ share).max() / share.sum()) if share.sum() > 0 else 0.0


def piece_weights(claimed: Sequence[Word], passages: Passages, pieces: Sequence[tuple[int, int]]) -> Floats:
    """The rarity of the word of each piece; 0 for words without meaning and for punctuation."""
    known = [(word.start, word.end, passages.rarity(word.stem)) for word in claimed if word.meaning]
    return np.array([max((rarity for a, b, rarity in known if a < end and start < b), default=0.0) for start, end in pieces])
