"""What it costs to plan many trials of two axes that set values of one component, over 1,000 questions."""

import json
import resource
import sys
from pathlib import Path

import pytest
from bench.measuring import Report, declared, rag

pytestmark = pytest.mark.bench

FIXED = ["dataset.path=set", "store=store", "index=[bm25s]", "fusion=single", "generator=none", "latency=0"]
BOUNDS = {200: None, 1000: 5.0, 10_000: 10.0}
"""Trials → seconds of the processors that `rag plan` may take, imports counted."""
MOST_MEMORY = 1.0
"""Gigabytes."""


@pytest.fixture
def questions(bench: Path) -> Path:
    """A golden set of 200 documents with 5 questions each."""
    (bench / "set" / "documents").mkdir(parents=True)
    rows = []
    for document in range(200):
        parts = [" ".join(f"w{(document * 7 + part * 11 + word * 13) % 997}" for word in range(60)) for part in range(5)]
        (bench / "set" / "documents" / f"{document}.md").write_text("\n\n".join(parts), encoding="utf-8")
        for number, part in enumerate(parts):
            places = [{"doc": f"{document}.md", "quote": part}]
            rows.append({"id": f"{document}-{number}", "text": part[:60], "evidence": [{"any": places}]})
    (bench / "set" / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
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
        # In kilobytes, on a Mac in bytes.
        memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / (1e9 if sys.platform == "darwin" else 1e6)
        report.row(trials, told.taken.wall, told.taken.cpu, bound, memory)
        assert told.content["trials"] == trials
        assert bound is None or told.taken.cpu <= bound
        assert memory <= MOST_MEMORY
    report.show()
