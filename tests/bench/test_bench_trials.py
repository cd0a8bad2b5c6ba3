"""The cost of many trials over 1,000 questions: plans of 10,000; every verb, the report and the files of 5,000."""

from pathlib import Path

import numpy as np
import pytest
from bench.measuring import Report, declared, largest, rag, timed, write_thousand
from support.chromium import chromium

from rag.execution.sweep.selection.contest import plausible

pytestmark = pytest.mark.bench

FIXED = ["dataset.path=set", "store=store", "index=[bm25s]", "fusion=single", "generator=none", "latency=0"]
METRICS = ["metrics=[recall@k,ndcg@10]"]
BOUNDS = {200: None, 1000: 5.0, 10_000: 10.0}
"""Trials → seconds of the processors that `rag plan` may take, imports counted."""
MOST_MEMORY = 1.0
"""Gigabytes of any process."""


def test_planning_grows_gently_with_the_trials(bench: Path) -> None:
    write_thousand(bench / "set")
    report = Report("rag plan, k1 × b of BM25, 1,000 questions", ("trials", "wall s", "CPU s", "at most", "largest so far GB"))
    for (trials, bound), (first, second) in zip(BOUNDS.items(), ((20, 10), (40, 25), (100, 100)), strict=True):
        axes = {
            "k1": "index.bm25s.k1=" + ",".join(f"{0.5 + number / 100:.2f}" for number in range(first)),
            "b": "index.bm25s.b=" + ",".join(f"{number / 100:.2f}" for number in range(second)),
        }
        path = declared(bench / f"plan{trials}.yaml", "How does BM25 count?", "native", FIXED, axes)
        told = rag("plan", path, "--json")
        memory = largest()
        report.row(trials, told.taken.wall, told.taken.cpu, bound, memory)
        assert told.content["trials"] == trials
        assert bound is None or told.taken.cpu <= bound
        assert memory <= MOST_MEMORY
    report.show()


def test_many_trials(bench: Path) -> None:
    write_thousand(bench / "set")
    report = Report("1,000 questions, k1 of BM25 × k", ("trials", "verb", "wall s", "CPU s", "largest so far GB"))
    for trials, cuts in ((500, 10), (5_000, 100)):
        values = ",".join(f"{0.5 + number / 50:.2f}" for number in range(50))
        axes = {"k1": f"index.bm25s.k1={values}", "k": f"k=range(1,{cuts + 1})"}
        name = f"many{trials}"
        study = declared(bench / f"{name}.yaml", "How does BM25 count?", "native", FIXED + METRICS, axes)
        verbs = ("plan", study), ("sweep", study, "--no-track"), ("sweep", study, "--no-track"), ("report", study)
        for verb in (*verbs, ("store", "stats", "--store", "store"), ("store", "gc", "--days", "30", "--store", "store")):
            told = rag(*verb)
            report.row(trials, " ".join(verb[:2]), told.taken.wall, told.taken.cpu, largest())
        page = bench / "reports" / name / "index.html"
        with chromium() as browser:
            opened = browser.new_page()
            opened.goto(page.as_uri())
            opened.wait_for_selector("html[data-ready]", state="attached")
            ready = opened.evaluate("document.documentElement.dataset.ready")
        sizes = ", ".join(f"{path.name} {path.stat().st_size / 1e6:.1f} MB" for path in sorted(page.parent.iterdir()))
        report.note(f"{trials} trials: the page is ready after {ready} ms; {sizes}")
    report.show()
    assert largest() <= MOST_MEMORY


def test_the_contest_grows_with_the_square_of_trials_that_all_differ() -> None:
    """In a grid of k most trials answer alike; here none do."""
    report = Report("p-values of the contest, 1,000 questions in 200 clusters", ("trials that differ", "CPU s"))
    random = np.random.default_rng(0)
    for trials in (500, 1_000):
        values = random.random((1_000, 1)) + random.normal(0, 0.03, trials) + random.normal(0, 0.15, (1_000, trials))
        with timed() as taken:
            assert plausible(values, np.arange(1_000) // 5).max() > 0.05
        report.row(trials, taken.cpu)
        assert taken.cpu < 30
    report.show()
