"""The choice among questions that pass all filters: balanced over kinds, difficulty, and searches by words and by vectors."""

from collections import deque
from collections.abc import Mapping, Sequence
from itertools import product

from rag.authoring.candidates import Candidate
from rag.authoring.generation.proposals import MODEL

ENOUGH = 100
MOST_EASY = 0.33
"""The most questions that every trial of the probe solves, in parts of a set that has ENOUGH without more."""
HARD, EASY = range(2)
"""Questions that a trial of the probe does not solve, and those that all solve."""
Grade = tuple[int, int]
"""One of HARD and EASY; 1 if words find its evidence earlier, -1 if vectors do, else 0."""
Rated = tuple[Candidate, float, float, bool]
"""A question with its gains by words and by vectors; True if every trial of the probe solves it."""


def selected(pool: Mapping[str, Sequence[Rated]], shares: Mapping[str, int], total: int) -> list[Candidate]:
    """Up to `total` questions of a pool by kind, so that the sums of their gains by words and by vectors differ by at most 1.

    At most MOST_EASY of them are EASY. A set below ENOUGH is filled up with EASY ones, then with those that favour a search.
    All questions of a model are taken.
    """
    queues = {kind: _graded(rated) for kind, rated in pool.items()}
    kept: dict[str, list[Candidate]] = {kind: [] for kind in pool}
    lean, easy, size = 0.0, 0, 0
    while size < total:
        signs = [sign for sign in (0, -1, 1) if sign * lean <= 0]
        levels = [HARD, EASY] if easy < MOST_EASY * (size + 1) else [HARD]
        waiting = {kind: _first(grades, levels, signs) for kind, grades in queues.items()}
        for more in (([EASY], signs), ([HARD, EASY], [0, -1, 1])) if size < ENOUGH else ():
            if not any(waiting.values()):
                waiting = {kind: _first(grades, *more) for kind, grades in queues.items()}
        found = [(len(kept[kind]) / shares[kind], kind, grade) for kind, grade in waiting.items() if grade]
        if not found:
            break
        *_, kind, grade = min(found)
        candidate, by_words, by_vectors, _ = queues[kind][grade].popleft()
        kept[kind].append(candidate)
        lean, easy, size = lean + by_words - by_vectors, easy + (grade[0] == EASY), size + 1
        if not candidate.evidence and len(kept[kind]) >= shares[kind]:
            queues[kind].clear()
    return [candidate for group in kept.values() for candidate in group]


def _graded(rated: Sequence[Rated]) -> dict[Grade, deque[Rated]]:
    grades: dict[Grade, deque[Rated]] = {}
    for candidate, by_words, by_vectors, is_solved in rated:
        grade = (EASY if is_solved else HARD, (by_words > by_vectors) - (by_words < by_vectors))
        grade = (HARD, 0) if candidate.method.startswith(MODEL) else grade
        grades.setdefault(grade, deque()).append((candidate, by_words, by_vectors, is_solved))
    return grades


def _first(grades: Mapping[Grade, deque[Rated]], levels: Sequence[int], signs: Sequence[int]) -> Grade | None:
    return next((grade for grade in product(levels, signs) if grades.get(grade)), None)
