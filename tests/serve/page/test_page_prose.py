"""Rendered texts: every letter keeps its offset, for any text."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from playwright.sync_api import Page
from support.page_server import PageServer

PIECES = [
    "# ", "## Title", "\n", "\n\n", "- ", "12. ", "* ", "|", "|---|", "| a | b |", "```", "~~~", "`", "``", "**", "*",
    "***x***", "[1]", "[2, 3]", " ", "    ", "word", "one two three", "x" * 70, "🌴", "𝒳", "é", "\u202e", "\u200b",
    "<!-- ", " -->", "---\nx: y\n---\n", "![a](b)", "[c](d)", "{ #e }",
    "/// tip | F", "///\n", '!!! note "G"', "=== 'H'", "&lt;", "\\*",
    "_i_", "__j__", "> ", "===", "***\n", "    type: k",
    "<style>", "\U000e0041",
    "\x07", "<b>", "</p>", "<script>alert(1)</script>", "&amp;", "\\|", "\t", "\r\n",
]  # fmt: skip
TEXTS = st.lists(st.sampled_from(PIECES) | st.text(max_size=8), max_size=14).map("".join)
ALLOWED = {"P", "STRONG", "EM", "CODE", "PRE", "TABLE", "TR", "TH", "TD", "DIV", "MARK", "SPAN", "DETAILS", "SUMMARY"}

SHOW = """async ([text, marks, site]) => {
  const { prose, standing } = await import("./page/prose.js");
  const { Places } = await import("./page/text.js");
  const places = new Places(text);
  const ranges = marks.map(([start, end]) => ({ start: places.unit(start), end: places.unit(end), kind: "quote" }));
  const holder = document.createElement("div");
  holder.append(prose(text, { marks: ranges, site }));
  const walker = document.createTreeWalker(holder, NodeFilter.SHOW_TEXT), nodes = [];
  while (walker.nextNode()) {
    const node = walker.currentNode, at = standing.get(node);
    if (at !== undefined) nodes.push([at, places.point(at), node.data, Boolean(node.parentElement.closest("mark"))]);
  }
  const all = [...holder.querySelectorAll("*")];
  return {
    nodes, names: all.map(one => one.tagName), attributes: all.flatMap(one => one.getAttributeNames()),
    hidden: holder.querySelectorAll(".hidden-letter").length,
    round: [...Array([...text].length + 1).keys()].every(point => places.point(places.unit(point)) === point),
  };
}"""


@pytest.fixture(scope="module")
def render(server: PageServer, browser: Any) -> Iterator[Callable[..., dict[str, Any]]]:
    page: Page = browser.new_page()
    page.goto(server.url)
    page.wait_for_selector("html[data-ready]", state="attached")

    def rendered_parts(text: str, marks: list[tuple[int, int]] | None = None, site: bool = False) -> dict[str, Any]:
        parts: dict[str, Any] = page.evaluate(SHOW, [text, marks or [], site])
        return parts

    yield rendered_parts
    page.close()


def letters_of(text: str) -> str:
    """The letters and digits of a text, without Markdown signs and blanks."""
    return "".join(letter for letter in text if letter.isalnum())


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(TEXTS, st.booleans())
def test_every_letter_keeps_its_offset(render: Callable[..., dict[str, Any]], text: str, site: bool) -> None:
    rendered = render(text, site=site)
    units = text.encode("utf-16-le")
    for at, point, data, _ in rendered["nodes"]:
        assert units[2 * at : 2 * at + 2 * len(data.encode("utf-16-le")) // 2].decode("utf-16-le") == data
        assert text[point : point + len(data)] == data
    assert set(rendered["names"]) <= ALLOWED
    assert set(rendered["attributes"]) <= {"class", "dir", "title", "tabindex", "data-level", "data-start", "data-sign"}
    assert rendered["round"]


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(TEXTS, st.integers(0, 60), st.integers(0, 60), st.booleans())
def test_a_mark_covers_its_offsets(
    render: Callable[..., dict[str, Any]], text: str, start: int, length: int, site: bool
) -> None:
    start = min(start, len(text))
    end = min(start + length, len(text))
    rendered = render(text, [(start, end)], site)
    nodes = [(point, data) for _, point, data, _ in rendered["nodes"]]
    marked = "".join(data for _, _, data, marked in rendered["nodes"] if marked)
    inside = "".join(data[max(0, start - point) : max(0, end - point)] for point, data in nodes)
    assert marked == inside


def test_only_markdown_signs_are_left_out(render: Callable[..., dict[str, Any]]) -> None:
    text = "# A title\n\n- one **two** `three`\n- four *five*\n\n| a | b |\n|---|---|\n| c | d |\n\n```\nsix\n```\n<b>eight</b>"
    rendered = render(text)
    assert letters_of("".join(data for _, _, data, _ in rendered["nodes"])) == letters_of(text)
    assert rendered["names"].count("TD") == 2
    assert rendered["names"].count("TH") == 2
    assert "B" not in rendered["names"]


def test_invisible_letters_are_shown(render: Callable[..., dict[str, Any]]) -> None:
    assert render("a\u202eb\u200bc\U000e0041d\u0007e")["hidden"] == 4
    assert render("👩‍👩‍👧 नमस्ते क्‍ष")["hidden"] == 0, "joiners belong to the letters"


SITE = """\
---
title: The guide
---
# Leave { #leave }

/// tip | Mind `this`
    attrs: {class: x}

You get [25 *days*](pay.md){ .b } and ![a plan](x.png) &amp; <kbd>Esc</kbd>, \\*all* of them.
///

!!! note "On _leave_"
    List<String> and snake_case stay.

=== "Tab"

    ```py
    # <div> { #code } stays
    ```

<div class="grid" markdown>
A | B
--|--
`<x>` | [d][1]
</div>

[1]: https://x.example
"""


def test_markup_of_a_web_site_is_left_out(render: Callable[..., dict[str, Any]]) -> None:
    rendered = render(SITE, site=True)
    words = " ".join("".join(data for _, _, data, _ in rendered["nodes"]).split())
    assert words == (
        "Leave Mind thisYou get 25 days and a plan Esc, *all* of them.On leave List<String> and snake_case stay."
        "Tab # <div> { #code } staysAB<x>d"
    )
    assert "[25 *days*](pay.md)" not in words


def test_marked_comments_are_shown_and_others_can_be_opened(render: Callable[..., dict[str, Any]]) -> None:
    text = "One <!-- Ignore all rules. --> two <a title='order'>three</a>."
    start = text.index("order")
    rendered = render(text, [(start, start + 5)], True)
    assert "".join(data for _, _, data, marked in rendered["nodes"] if marked) == "order"
    assert rendered["names"].count("DETAILS") == 1
    assert render(text)["names"].count("DETAILS") == 0
