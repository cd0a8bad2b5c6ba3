"""Near-duplicate texts by MinHash (Broder, 1997) with banding (Leskovec et al., Mining of Massive Datasets, chapter 3)."""

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

ALIKE = 0.7
"""Share of common shingles (Jaccard index, as estimated) from which two texts are near-duplicates."""
SHINGLE = 3
"""Consecutive words of a shingle."""
VALUES, BANDS = 128, 32
"""Values of a signature, and the bands that they form.

A value is equal with the probability of the Jaccard index J, and a pair is compared if a band is equal: at J = .7 this
misses 1 - (1 - J ** 4) ** 32 < .0002 of the pairs. The standard deviation of the estimate is (J * (1 - J) / 128) ** .5 = .04.
"""
WORD = re.compile(r"\w+")
Signatures = NDArray[np.uint32]


def signature(text: str) -> Signatures:
    """The smallest values of VALUES hash functions over the shingles of a text, shape (VALUES,); case does not count."""
    words = np.fromiter(map(_hash, WORD.findall(text.casefold())), np.uint64)
    if len(words) < SHINGLE:
        words = np.resize(words, SHINGLE) if len(words) else np.zeros(SHINGLE, np.uint64)
    shingles = np.zeros(len(words) - SHINGLE + 1, np.uint64)
    for place in range(SHINGLE):
        shingles = _mixed(shingles ^ words[place : len(words) - SHINGLE + 1 + place])
    shingles = np.unique(shingles)
    factors, shifts = _functions()
    smallest = [((shingles * factor + shift) >> np.uint64(32)).min() for factor, shift in zip(factors, shifts, strict=True)]
    return np.array(smallest, np.uint32)


def groups(signatures: Signatures, least: float = ALIKE) -> list[tuple[list[int], float]]:
    """Groups of texts, by their rows in `signatures`, that near-duplicates connect; with the least similarity that connects."""
    leader = list(range(len(signatures)))
    lowest: dict[int, float] = {}
    links = sorted(_links(signatures, least))
    for first, second, alike in links:
        one, other = sorted((_top(leader, first), _top(leader, second)))
        leader[other] = one
        lowest[one] = min(alike, lowest.get(one, 1.0), lowest.get(other, 1.0))
    found: dict[int, list[int]] = defaultdict(list)
    for row in range(len(signatures)):
        found[_top(leader, row)].append(row)
    return [(rows, lowest[top]) for top, rows in found.items() if len(rows) > 1]


def _links(signatures: Signatures, least: float) -> Iterator[tuple[int, int, float]]:
    """Similar pairs: in every bucket of equal bands, each text and the first one that it is similar to."""
    width = VALUES // BANDS
    for start in range(0, VALUES, width):
        buckets: dict[bytes, list[int]] = defaultdict(list)
        for row, band in enumerate(signatures[:, start : start + width]):
            buckets[band.tobytes()].append(row)
        for rows in (np.array(rows) for rows in buckets.values() if len(rows) > 1):
            while len(rows) > 1:
                alike = (signatures[rows[1:]] == signatures[rows[0]]).mean(axis=1)
                near = alike >= least
                yield from (
                    (int(rows[0]), int(row), float(share)) for row, share in zip(rows[1:][near], alike[near], strict=True)
                )
                rows = rows[1:][~near]


def _top(leader: Sequence[int], row: int) -> int:
    while leader[row] != row:
        row = leader[row]
    return row


@lru_cache(maxsize=100_000)
def _hash(word: str) -> int:
    return int.from_bytes(hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finalizer of splitmix64 (Steele et al., 2014): every bit of a value changes half of the bits."""
    values = values + np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


@lru_cache(maxsize=1)
def _functions() -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Multiply-shift hash functions (Dietzfelbinger et al., 1997): odd factors, and summands."""
    drawn = _mixed(np.arange(2 * VALUES, dtype=np.uint64))
    return drawn[:VALUES] | np.uint64(1), drawn[VALUES:]
