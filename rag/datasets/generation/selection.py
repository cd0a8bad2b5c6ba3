"""The choice among questions that pass all filters: balanced over kinds, difficulty, and searches by words and by vectors."""

from collections import deque
from collections.abc import Mapping, Sequence

from rag.datasets.candidates import Candidate
from rag.datasets.generation.proposals import MODEL

TOPIC, ENOUGH = "topic", 100
"""Questions about what is said of a name repeat it, and so favour searches by words: they only complete a small set.

On squad2-a the order of 12 trials by such questions has tau-b .52 with people's, by the others .64.
"""
MOST_EASY = 0.35
"""The most questions that both searches find first, in parts of a set that has ENOUGH without more."""
OTHER, VECTORS, WORDS, EASY = GRADES = ("other", "vectors", "words", "easy")
"""What finds the evidence earlier; both find that of an easy question first, and neither first that of another one."""
Rated = tuple[Candidate, float, float]
"""A question with its gains by words and by vectors."""


def selected(pool: Mapping[str, Sequence[Rated]], shares: Mapping[str, int], total: int) -> list[Candidate]:
    """Up to `total` questions of a pool by kind, so that the sums of their gains by words and by vectors differ by at most 1.

    At most EASY of them are found first by both, but a set that stays below ENOUGH is filled up with such questions. All
    questions of a model are taken.
    """
    queues = {
        kind: {grade: deque(one for one in rated if _grade(one) == grade) for grade in GRADES} for kind, rated in pool.items()
    }
    kept: dict[str, list[Candidate]] = {kind: [] for kind in pool}
    lean, easy, size = 0.0, 0, 0
    while size < total:
        fitting = [OTHER, *([VECTORS] if lean >= 0 else []), *([WORDS] if lean <= 0 else [])]
        fitting += [EASY] if easy < MOST_EASY * (size + 1) else []
        waiting = {kind: next((grade for grade in fitting if grades[grade]), None) for kind, grades in queues.items()}
        if size >= min(total, ENOUGH):
            waiting.pop(TOPIC, None)
        elif not any(waiting.values()):
            waiting = {kind: EASY if grades[EASY] else None for kind, grades in queues.items()}
        found = [(kind == TOPIC, len(kept[kind]) / shares[kind], kind, grade) for kind, grade in waiting.items() if grade]
        if not found:
            break
        *_, kind, grade = min(found)
        candidate, by_words, by_vectors = queues[kind][grade].popleft()
        kept[kind].append(candidate)
        lean, easy, size = lean + by_words - by_vectors, easy + (grade == EASY), size + 1
        if not candidate.evidence and len(kept[kind]) >= shares[kind]:
            queues[kind][OTHER].clear()
    return [candidate for group in kept.values() for candidate in group]


def _grade(rated: Rated) -> str:
    candidate, by_words, by_vectors = rated
    if candidate.method.startswith(MODEL) or by_words == by_vectors < 1:
        return OTHER
    return EASY if by_words == by_vectors else WORDS if by_words > by_vectors else VECTORS
