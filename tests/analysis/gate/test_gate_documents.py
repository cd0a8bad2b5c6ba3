"""Files of a gate report: all texts are escaped."""

from typing import Any
from xml.etree import ElementTree

from rag.analysis.gate.decide import Row
from rag.analysis.gate.finding import FAIL, INCONCLUSIVE, PASS
from rag.analysis.gate.limits import BoundResult
from rag.analysis.gate.verdict import GateReport, Lost
from rag.analysis.gate.verdict_files import code, junit_of, markdown_of, marker

HOSTILE = "</code><script>alert(1)</script> | @everyone [x](http://evil) `a` $b$ *c* \x00\x1b[31m -->\n## Title"


def told(verdict: str = FAIL, text: str = HOSTILE, inconclusive: str = "warn", **given: Any) -> GateReport:
    """A report in which all texts are the same."""
    row = Row("ndcg@10", f"kind={text}", 0.03, 3, 3, 0.5, 0.25, -0.25, -0.5, -0.01, FAIL, "worse")
    rows = (row, Row("recall@5", "", 0.03, 3, 3, 0.5, 0.5, 0.0, -0.5, 0.5, INCONCLUSIVE, "open", 1200))
    bounds = (
        BoundResult("failed == 0", 0.0, None, None, PASS, "kept"),
        BoundResult("m >= 1", 0.5, None, None, FAIL, "broken", None, True),
    )
    lost = (Lost(text, text, text, {"ndcg@10": (1.0, 0.25)}, text),)
    sides = ("cd", text), ("ab", text)
    return GateReport(
        *(text, text, 3, inconclusive, *sides, verdict, text),
        **{"rows": rows, "bounds": bounds, "lost": lost, "losses": ((text, 1),), "changed": ((text, text, None),)} | given,
    )  # type: ignore[arg-type]


def test_markdown_escapes_markup_in_texts() -> None:
    text = markdown_of(told())
    lines = text.splitlines()
    assert lines[0].startswith("<!-- assay-gate ")
    assert lines[0].endswith("-->")
    assert lines[0].count("-->") == 1
    assert sum(line.startswith("#") for line in lines) == 2
    for markup in ("<script", "@everyone", "](", "`a`", "$b$", "*c*", "\x00", "\x1b"):
        assert markup not in text
    tables = [line for line in lines if line.startswith("|")]
    assert {line.count("|") for line in tables} == {10, 5}


def test_the_verdict_comes_before_the_table_and_the_questions() -> None:
    text = markdown_of(told(text="plain"))
    places = [text.index(part) for part in ("## FAIL: gate of", "| **FAIL** |", "| **INCONCLUSIVE** |", "### Questions that")]
    assert places == sorted(places)
    assert "-.250 [-.500, -.010]" in text
    assert "1,200 questions would settle it" in text
    assert "| **WARN** |" in text


def test_junit_is_xml_with_one_case_per_row() -> None:
    suite = ElementTree.fromstring(junit_of(told()))
    assert [suite.get(name) for name in ("tests", "failures", "errors", "skipped")] == ["4", "1", "0", "2"]
    cases = suite.findall("testcase")
    assert len(cases) == 4
    assert cases[0].find("failure").get("message") == "FAIL: -.250 [-.500, -.010]: worse"
    assert cases[1].find("skipped").get("message").endswith("open; 1,200 questions would settle it")
    assert len(cases[2]) == 0
    assert cases[3].find("skipped").get("message").startswith("WARN")
    assert ElementTree.fromstring(junit_of(told(inconclusive="fail"))).get("failures") == "2"


def test_a_candidate_that_did_not_run_is_an_error() -> None:
    broken = told(rows=(), bounds=(), lost=(), losses=(), error="x")
    assert ElementTree.fromstring(junit_of(broken)).get("errors") == "1"
    assert markdown_of(broken).count("|") == 0


def test_long_texts_are_cut_and_empty_ones_are_left_out() -> None:
    assert len(code("word " * 200)) < 200
    assert code("") == ""
    assert marker("a b--><x>") == "<!-- assay-gate a-b----x- -->"
