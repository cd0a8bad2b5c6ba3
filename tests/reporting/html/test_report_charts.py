import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from support import synthetic_reports

from rag.execution.sweep.selection import Mean
from rag.reporting.html.page import CHARTS, board, heat
from rag.reporting.html.svg import NAMES, Chart
from rag.reporting.html.view_model import UNKNOWN, Material

SVG = "{http://www.w3.org/2000/svg}"


def drawn(name: str, material: Material) -> Chart:
    chart = CHARTS[name](material)
    assert chart is not None
    return chart


@pytest.mark.parametrize("name", CHARTS)
def test_a_picture_is_text_in_colours_of_the_page(name: str) -> None:
    material = synthetic_reports.material(300, 20)
    chart = drawn(name, material)
    root = ElementTree.fromstring(chart.svg)
    assert root.get("role") == "img"
    assert root.find(f"{SVG}title") is not None
    assert root.findtext(f"{SVG}desc")
    assert root.findall(f".//{SVG}text")
    assert [part for part in ("style=", "<style", "xlink") if part in chart.svg] == []
    assert set(re.findall(r'(?:fill|stroke)="(#[0-9a-f]+)"', chart.svg)) == set()
    used = set(re.findall(r"(?:fill|stroke)-([a-z]+\d?)", " ".join(re.findall(r'class="([^"]*)"', chart.svg))))
    assert used <= set(NAMES)
    assert len(chart.svg) < 400_000
    few = drawn(name, synthetic_reports.material(3, 20))
    assert few.svg == drawn(name, synthetic_reports.material(3, 20)).svg
    assert not few.caption.startswith("The best")
    cut = re.match(r"The best (30|12) of 300 trials; the table has all\.", chart.caption)
    assert bool(cut) == (name in ("leaderboard", "blame", "latency"))


def test_any_name_can_be_drawn() -> None:
    material = synthetic_reports.material(8, 20)
    hostile = ["$x_{1}$ & <b>", "a\x00b\x1bc", "漢字 🜚", "x" * 500, "\ud800", ""]
    rows = tuple(replace(row, name=text + row.trial_id) for row, text in zip(material.trials, hostile, strict=False))
    ElementTree.fromstring(drawn("leaderboard", replace(material, trials=rows)).svg.encode("utf-8"))


def test_unknown_scores_leave_rows_empty() -> None:
    material = synthetic_reports.material(3, 20)
    rows = tuple(replace(row, score=UNKNOWN, holdout=None) for row in material.trials)
    for name in CHARTS:
        chart = CHARTS[name](replace(material, trials=rows))
        assert chart is None or "nan" not in chart.svg


def test_where_nothing_was_measured_nothing_is_drawn() -> None:
    material = synthetic_reports.material(3, 20)
    rows = tuple(replace(row, measured={}) for row in material.trials)
    bare = replace(material, trials=rows, effects=(), interactions=(), blame=None, headroom=(), latency={})
    assert [name for name in CHARTS if CHARTS[name](bare) is not None] == ["leaderboard"]


def test_the_table_has_every_trial_and_the_heat_map_the_best() -> None:
    material = synthetic_reports.material(40, 20)
    assert len(board(material).lines) == 40
    found = heat(material)
    assert found is not None
    assert (len(found.lines), found.total) == (20, 40)
    assert {step for _, _, cells in found.lines for _, step in cells} <= set(range(9))


def test_where_a_clock_decides_quality_is_that_of_a_metric() -> None:
    material = synthetic_reports.material(12, 20)
    rows = tuple(replace(row, score=Mean(row.measured.get("latency_p95_ms", float("nan")))) for row in material.trials)
    fastest = replace(material, trials=rows, column="latency_p95_ms", maximize=False, digits=1, per_question="ndcg@10")
    labels = ElementTree.fromstring(drawn("pareto", fastest).svg).findall(f".//{SVG}text")
    assert "ndcg@10" in [label.text for label in labels]
    assert [fastest.quality(row).mean for row in fastest.done] == [row.metrics["ndcg@10"]["mean"] for row in material.done]
    assert fastest.measure == "ndcg@10"
