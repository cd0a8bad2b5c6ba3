"""A report as Markdown, and its pictures."""

import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from support import synthetic_reports

from rag.reporting.html import markdown
from rag.reporting.html.page import CHARTS
from rag.reporting.html.svg import NAMES, Chart
from rag.reporting.html.view_model import Material

UNESCAPED = re.compile(r"(?<!\\)(?:\\\\)*[`*_|~$\[\]]")


@given(st.text())
def test_text_stays_text_on_one_line(text: str) -> None:
    said = markdown.escape_markdown(text)
    assert "\n" not in said
    assert "<" not in said
    assert ">" not in said
    assert not UNESCAPED.search(said)
    assert not re.match(r"([#+\-=>]|\d+[.)])", said)


@given(st.text(min_size=1))
def test_a_code_span_ends_where_it_should(text: str) -> None:
    said = markdown.code(text)
    if text.split():
        fence = re.match(r"`+", said)
        assert fence is not None
        assert said.endswith(fence[0])
        assert fence[0] not in said[len(fence[0]) : -len(fence[0])].split("`" * (len(fence[0]) + 1))[0]


def test_a_report_says_first_what_to_do_and_has_every_section() -> None:
    material = synthetic_reports.material(3, 20)
    lines = markdown.render(material).splitlines()
    assert material.chosen is not None
    assert lines[0] == f"# {material.question}"
    assert lines[2].startswith(f"**Take** **{markdown.escape_markdown(material.chosen.name)}**")
    assert [line[3:] for line in lines if line.startswith("## ")] == [
        *("Leaderboard", "Trade-offs", "What matters", "Slices", "Losses", "Headroom", "Checks", "Latency", "How to read this")
    ]


def test_hostile_names_break_no_table() -> None:
    material = synthetic_reports.material(3, 20)
    hostile = "a|b `c` <script>x</script>\n# d [e](javascript:f) $g$"
    rows = tuple(replace(row, name=f"{hostile} {row.trial_id}") for row in material.trials)
    text = markdown.render(replace(material, trials=rows, question=hostile))
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    kinds = {inner.type for token in tokens for inner in (token, *(token.children or ()))}
    # Inside of a code span, as that of the command, a tag is text.
    assert kinds.isdisjoint({"html_block", "html_inline", "link_open", "image"})
    assert {"heading_open", "table_open", "code_inline"} <= kinds
    assert "<script" not in re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", text)
    tables = re.findall(r"(?:^\|.*\|\n)+", text, re.MULTILINE)
    assert len(tables) >= 5
    for table in tables:
        widths = {len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}
        assert len(widths) == 1


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
