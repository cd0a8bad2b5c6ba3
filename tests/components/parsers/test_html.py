"""Web pages: the content without boilerplate, in any encoding."""

import pytest
from support.sample_files import PARAGRAPH

from rag.components.parsers.html import HtmlParser
from rag.core.errors import DataError
from rag.core.types import Parsed

TEXTS = "".join(f"<h2>Part {number}</h2><p>{number}: {PARAGRAPH}</p><ul><li>point {number}</li></ul>" for number in range(6))
SITE = "<nav><ul><li><a href='/'>Home</a></li></ul></nav>{}<footer><p>Imprint</p></footer><script src='a.js'></script>"


def page(body: str, head: str = "", article: bool = True) -> Parsed:
    return HtmlParser(article).parse(f"<html><head>{head}</head><body>{body}</body></html>".encode(), "a.html")


@pytest.mark.parametrize("container", ["<main>{}</main>", "<div id='wrap'>{}</div>"])
def test_boilerplate_is_dropped_and_headings_lists_and_text_are_kept(container: str) -> None:
    content = page(SITE.format(container.format(TEXTS)), "<title>Leave rules</title>")
    parts = [f"## Part {number}\n\n{number}: {PARAGRAPH}\n\n- point {number}" for number in range(6)]
    assert content.text == "\n\n".join(["# Leave rules", *parts])
    assert content.metadata["title"] == "Leave rules"
    kept, whole = (
        len(" ".join([f"Part {number} {number}: {PARAGRAPH} point {number}" for number in range(6)])),
        len("Home  Imprint"),
    )
    assert content.notes == (f"kept {kept:,} of {kept + whole:,} characters; the others are taken for boilerplate",)


@pytest.mark.parametrize(
    ("before", "first"),
    [
        ("<div id='help'><h2 class='help-title'>Keyboard shortcuts</h2></div><h1>The Boat Book</h1>", "<h1>Leave rules</h1>"),
        ("<h1>The Boat Book</h1>", "<h2>Leave rules<span><a class='mark' href='#leave'>#</a></span></h2>"),
        ("", "<h1>Leave rules<a class='headerlink' href='#leave'>¶</a></h1>"),
    ],
)
def test_the_title_is_that_of_the_page_and_not_of_its_site_or_a_menu(before: str, first: str) -> None:
    content = page(SITE.format(f"{before}<main>{first}{TEXTS}</main>"), "<title>Leave rules - The Boat Book</title>")
    assert content.metadata["title"] == "Leave rules"
    assert content.text.lstrip("#").startswith(" Leave rules\n")


def test_without_article_all_words_are_kept() -> None:
    text = page(SITE.format(TEXTS), article=False).text
    assert text.startswith("- Home\n\n## Part 0")
    assert text.endswith("Imprint")


def test_a_page_without_elements_of_web_sites_is_kept_whole() -> None:
    assert page("<p>Short.</p><footer>Signed: A.</footer>").text == "Short.\n\nSigned: A."


def test_blocks_of_html() -> None:
    body = (
        "<h1>T</h1>loose <b>words</b><br>next<ol><li>one<ul><li>in</li></ul></li><li><p>two</p></li></ol>"
        "<table><caption>Pay</caption><tr><th colspan=2>a|b<th rowspan=2>c</tr><tr><td>d<br>e<td>f</table>"
        "<pre>x = 1\n\n# no heading</pre><style>p {}</style><table><tr><td><p>layout</table>"
    )
    content = page(body)
    table = "| a\\|b |  | c |\n| --- | --- | --- |\n| d e | f |  |"
    parts = ["# T", "loose words\nnext", "1. one\n    - in\n2. two", "Pay", table, "```\nx = 1\n\n# no heading\n```", "layout"]
    assert content.text == "\n\n".join(parts)
    kinds = ["heading", "text", "list", "list", "list", "text", "table", "code", "text"]
    assert [block.kind for block in content.blocks] == kinds


@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252", "iso-8859-2"])
def test_encodings(codec: str) -> None:
    declared = codec if codec.startswith("iso") else "utf-8"
    text = "Žluť" if codec.startswith("iso") else "Überfluß"
    data = f"<html><head><meta charset='{declared}'></head><body><p>{text}</p></body></html>".encode(codec)
    content = HtmlParser(article=True).parse(data, "a.html")
    assert content.text == text
    assert content.notes == (() if codec.startswith("utf") else (f"read as {codec}: the bytes are not UTF-8",))


@pytest.mark.parametrize("opened", ["<div>", "<ul><li>", "<table><tr><td>"])
def test_deep_nesting_is_refused_in_one_line(opened: str) -> None:
    with pytest.raises(DataError, match="is nested too deeply for HTML"):
        HtmlParser(article=True).parse(f"{opened * 20_000}x".encode(), "a.html")
