import re
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from support import synthetic_reports

from rag.reporting.html import markdown

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
