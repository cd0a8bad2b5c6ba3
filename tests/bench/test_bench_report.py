"""How large a report is, how long it takes to draw, and how long until it can be used."""

from pathlib import Path

import pytest
from bench.measuring import Report, timed
from support import synthetic_reports
from support.chromium import chromium

from rag.reporting.html import page

pytestmark = pytest.mark.bench

LARGEST, SLOWEST = 15_000_000, 2_000
"""Bytes of a report, and milliseconds from opening it to its first question, at 300 trials × 500 questions."""
USED = """() => new Promise(done => {
  const began = performance.now(), words = document.getElementById("words");
  words.value = "ferry";
  words.dispatchEvent(new Event("input"));
  requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - began)));
})"""


def test_reports(tmp_path: Path) -> None:
    report = Report("Reports", ("trials × questions", "drawn, s", "MB", "usable after, ms", "a filter, ms"))
    found = {}
    with chromium() as browser:
        for trials, questions in ((3, 20), (24, 120), (300, 500)):
            material = synthetic_reports.material(trials, questions)
            path = tmp_path / f"{trials}.html"
            with timed() as taken:
                path.write_text(page.render(material), "utf-8")
            opened = browser.new_page()
            opened.goto(path.as_uri())
            opened.wait_for_selector("html[data-ready]", state="attached")
            ready = int(opened.evaluate("document.documentElement.dataset.ready"))
            found[trials] = path.stat().st_size, ready
            report.row(f"{trials} × {questions}", taken.wall, path.stat().st_size / 1e6, ready, opened.evaluate(USED))
            opened.close()
    report.show()
    assert found[300][0] < LARGEST
    assert found[300][1] < SLOWEST
