"""What it costs to plan many trials of two axes that set values of one component, over 1,000 questions."""

from pathlib import Path

import pytest
from bench.measuring import Report, declared, largest, rag, write_thousand

pytestmark = pytest.mark.bench

FIXED = ["dataset.path=set", "store=store", "index=[bm25s]", "fusion=single", "generator=none", "latency=0"]
BOUNDS = {200: None, 1000: 5.0, 10_000: 10.0}
"""Trials → seconds of the processors that `rag plan` may take, imports counted."""
MOST_MEMORY = 1.0
"""Gigabytes."""


@pytest.fixture
def questions(bench: Path) -> Path:
    """A golden set of 200 documents with 5 questions each."""
    write_thousand(bench / "set")
    return bench


def test_planning_grows_gently_with_the_trials(questions: Path) -> None:
    report = Report("rag plan, k1 × b of BM25, 1,000 questions", ("trials", "wall s", "CPU s", "at most", "largest so far GB"))
    for (trials, bound), (first, second) in zip(BOUNDS.items(), ((20, 10), (40, 25), (100, 100)), strict=True):
        axes = {
            "k1": "index.bm25s.k1=" + ",".join(f"{0.5 + number / 100:.2f}" for number in range(first)),
            "b": "index.bm25s.b=" + ",".join(f"{number / 100:.2f}" for number in range(second)),
        }
        path = declared(questions / f"plan{trials}.yaml", "How does BM25 count?", "native", FIXED, axes)
        told = rag("plan", path, "--json")
        memory = largest()
        report.row(trials, told.taken.wall, told.taken.cpu, bound, memory)
        assert told.content["trials"] == trials
        assert bound is None or told.taken.cpu <= bound
        assert memory <= MOST_MEMORY
    report.show()
