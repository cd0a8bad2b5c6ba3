import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from support import synthetic_reports

from rag.reporting.html.page import CHARTS
from rag.reporting.html.svg import NAMES, Chart
from rag.reporting.html.view_model import Material

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


def test_where_nothing_was_measured_nothing_is_drawn() -> None:
    material = synthetic_reports.material(3, 20)
    rows = tuple(replace(row, measured={}) for row in material.trials)
    bare = replace(material, trials=rows, effects=(), interactions=(), blame={}, headroom=(), latency={})
    assert [name for name in CHARTS if CHARTS[name](bare) is not None] == ["leaderboard"]
