"""Near-duplicates against the exact Jaccard index, and against another MinHash."""

import random
from itertools import combinations

import numpy as np
from datasketch import MinHash

from rag.analysis.ingestion.near_duplicates import SHINGLE, VALUES, WORD, groups, signature

RANDOM = random.Random(3)
WORDS = [f"word{number}" for number in range(3000)]
TEXTS = [" ".join(RANDOM.choices(WORDS, k=200)) for _ in range(40)]


def changed(text: str, share: float) -> str:
    words = text.split()
    for place in RANDOM.sample(range(len(words)), round(share * len(words))):
        words[place] = RANDOM.choice(WORDS)
    return " ".join(words)


def shingles(text: str) -> set[tuple[str, ...]]:
    words = WORD.findall(text.casefold())
    return {tuple(words[at : at + SHINGLE]) for at in range(len(words) - SHINGLE + 1)}


def jaccard(one: str, other: str) -> float:
    return len(shingles(one) & shingles(other)) / len(shingles(one) | shingles(other))


def estimate(one: str, other: str) -> float:
    return float((signature(one) == signature(other)).mean())


def test_estimates_are_as_near_to_the_exact_index_as_those_of_datasketch() -> None:
    pairs = [(text, changed(text, share)) for text in TEXTS for share in (0.0, 0.02, 0.05, 0.2)]
    exact = np.array([jaccard(*pair) for pair in pairs])
    ours = np.array([estimate(*pair) for pair in pairs]) - exact
    theirs = []
    for pair in pairs:
        one, other = (MinHash(num_perm=VALUES) for _ in pair)
        one.update_batch([" ".join(each).encode() for each in sorted(shingles(pair[0]))])
        other.update_batch([" ".join(each).encode() for each in sorted(shingles(pair[1]))])
        theirs.append(one.jaccard(other))
    spread = np.sqrt((exact * (1 - exact) / VALUES).mean())
    assert np.sqrt((ours**2).mean()) < 1.3 * spread
    assert np.sqrt(((np.array(theirs) - exact) ** 2).mean()) < 1.3 * spread
    assert abs(ours.mean()) < 0.01


def test_planted_copies_are_found_and_no_others() -> None:
    texts = [*TEXTS, *(changed(text, 0.02) for text in TEXTS[:20]), *(changed(text, 0.15) for text in TEXTS[20:])]
    found = groups(np.stack([signature(text) for text in texts]))
    assert [rows for rows, _ in found] == [[row, row + 40] for row in range(20)]
    assert all(abs(alike - jaccard(texts[rows[0]], texts[rows[1]])) < 0.16 for rows, alike in found)


def test_case_marks_and_white_space_do_not_count_and_short_texts_have_signatures() -> None:
    assert estimate("The cat, the dog and a bird.", "  THE CAT\n the dog — and a *bird*") == 1.0
    signatures = [signature(text) for text in ("", "one", "two words", "one two three", "...")]
    assert all(each.shape == (VALUES,) for each in signatures)
    assert (signatures[0] == signatures[4]).all()
    assert all((one != other).any() for one, other in combinations(signatures[:4], 2))
