"""The handbook printed as PDF, DOCX and HTML, with the same questions and the true page of every quote."""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path

import docx
from markdown_it import MarkdownIt
from markdown_it.token import Token
from support.print_layouts import LAYOUTS, Element, Unit, print_pdf
from support.print_layouts import key as key_of

HANDBOOK = Path(__file__).parents[2] / "datasets" / "handbook"
FORMATS = (*LAYOUTS, "docx", "html")
"""Six and more layouts of PDF, DOCX and HTML."""
MARKDOWN = MarkdownIt("commonmark").enable("table")
STYLES = {"strong": "b", "em": "i"}
PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title} - Ostrey Valley Hydrometric Trust</title>
<style>nav {{ color: #345 }}</style><script>var opened = 1;</script></head>
<body><header><nav><ul><li><a href="/">Home</a></li><li><a href="/staff">For staff</a></li>
<li><a href="/search">Search</a></li></ul></nav></header><main><article>{body}</article></main>
<aside><h3>See also</h3><ul><li><a href="/news">News</a></li><li><a href="/vacancies">Vacancies</a></li></ul></aside>
<footer><p>Ostrey Valley Hydrometric Trust. All rights reserved.</p><a href="/privacy">Privacy</a></footer></body></html>
"""


@dataclass(frozen=True)
class PrintedQuote:
    """A quote of a golden question and the pages with its first and its last character, 0 for a format without pages."""

    query_id: str
    doc_id: str
    quote: str
    first: int
    last: int


@dataclass(frozen=True)
class PrintedHandbook:
    """A golden set in `folder`: documents/ and questions.jsonl. `pages` is the number of pages of all documents."""

    folder: Path
    quotes: tuple[PrintedQuote, ...]
    pages: int = 0


def print_handbook(
    folder: Path, layout: str, documents: Collection[str] | None = None, hints: bool = False, source: Path = HANDBOOK
) -> PrintedHandbook:
    """The handbook in one of FORMATS, written to `folder`.

    `documents` are paths below documents/, None for all; a question is left out if it has evidence elsewhere. With `hints`
    every quote of the questions gets its page as `page`.
    """
    suffix = layout if layout in ("docx", "html") else "pdf"
    names = sorted(str(path.relative_to(source / "documents")) for path in (source / "documents").rglob("*.*"))
    places: dict[str, list[int]] = {}
    for name in names if documents is None else sorted(documents):
        text, target = (source / "documents" / name).read_text("utf-8"), (folder / "documents" / name).with_suffix(f".{suffix}")
        target.parent.mkdir(parents=True, exist_ok=True)
        places[name] = _printed(text, name, target, layout)
    rows = [json.loads(line) for line in (source / "questions.jsonl").read_text("utf-8").splitlines()]
    kept = [row for row in rows if all(place["doc"] in places for place in _alternatives(row))]
    quotes = tuple(
        _rewritten(row["id"], place, source, places[place["doc"]], suffix, hints)
        for row in kept
        for place in _alternatives(row)
    )
    (folder / "questions.jsonl").write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in kept), "utf-8")
    return PrintedHandbook(folder, quotes, sum(max(pages, default=0) for pages in places.values()))


def elements(text: str, name: str) -> list[Element]:
    """The content of a document of the handbook in reading order."""
    return list(_markdown(text) if name.endswith(".md") else _plain(text))


def _alternatives(row: Mapping[str, list[dict[str, list[dict[str, str]]]]]) -> Iterator[dict[str, str]]:
    return (place for group in row["evidence"] for place in group["any"])


def _rewritten(query: str, place: dict[str, str], source: Path, pages: list[int], suffix: str, hints: bool) -> PrintedQuote:
    """The quote of a place in the source; the place is changed to one in the printed document."""
    text = (source / "documents" / place["doc"]).read_text("utf-8")
    start = text.index(place["quote"])
    first = len(key_of(text[:start]))
    last = first + max(len(key_of(place["quote"])), 1) - 1
    place["doc"] = str(Path(place["doc"]).with_suffix(f".{suffix}"))
    if hints and pages:
        place["page"] = pages[first]  # type: ignore[assignment]  # a number among texts
    return PrintedQuote(query, place["doc"], place["quote"], *((pages[first], pages[last]) if pages else (0, 0)))


def _printed(text: str, name: str, target: Path, layout: str) -> list[int]:
    """Write one document; return the page of each letter and digit of its source, empty for a format without pages."""
    parts = elements(text, name)
    if layout == "docx":
        _write_docx(parts, target)
        return []
    if layout == "html":
        title = next((part.units[0].plain for part in parts if part.kind == "heading"), name)
        target.write_text(PAGE.format(title=escape(title), body="\n".join(map(_html, parts))), "utf-8")
        return []
    drawn = print_pdf(parts, target, LAYOUTS[layout])
    printed = "".join(letters for letters, _ in drawn)
    assert printed == key_of(text), f"{name} in {layout}: {printed[:200]} is not {key_of(text)[:200]}"
    return [page for letters, page in drawn for _ in letters]


def _plain(text: str) -> Iterator[Element]:
    """A text file: blocks between empty lines, a line in capitals at the top of a block is a heading."""
    level = 1
    for block in re.split(r"\n\s*\n", text.strip("\n")):
        lines = block.split("\n")
        if lines[0].isupper():
            yield Element("heading", (Unit(escape(lines.pop(0))),), level)
            level = 2
        if lines:
            yield Element("text", (Unit("<br/>".join(map(escape, lines))),))


def _markdown(text: str) -> Iterator[Element]:
    kind, level, number, rows = "text", 0, "", list[list[Unit]]()
    for token in MARKDOWN.parse(text):
        if token.type == "heading_open":
            kind, level = "heading", int(token.tag[1])
        elif token.type == "list_item_open":
            kind, number = "item", f"{token.info}. " if token.info else "• "
        elif token.type == "table_open":
            kind, rows = "table", []
        elif token.type == "tr_open":
            rows.append([])
        elif token.type == "table_close":
            yield Element("table", tuple(unit for row in rows for unit in row), len(rows[0]))
        elif token.type == "inline" and kind == "table":
            rows[-1].append(Unit(_markup(token)))
        elif token.type == "inline":
            yield Element(kind, (Unit(number + _markup(token)),), level)
            number = ""
        if token.type in ("heading_close", "list_item_close", "table_close"):
            kind, level = "text", 0


def _markup(inline: Token) -> str:
    """The words of a token with <b>, <i> and <br/>, everything else escaped."""
    shown = []
    for part in inline.children or ():
        style, _, side = part.type.rpartition("_")
        if style in STYLES:
            shown.append(f"<{'/' if side == 'close' else ''}{STYLES[style]}>")
        else:
            assert part.type in ("text", "softbreak", "hardbreak"), part.type
            shown.append(
                escape(part.content, quote=False) if part.type == "text" else "<br/>" if part.type == "hardbreak" else " "
            )
    return "".join(shown)


def _html(part: Element) -> str:
    if part.kind == "table":
        rows = (
            "".join(f"<{cell}>{unit.markup}</{cell}>" for unit in row) for cell, row in zip(_cells(), part.rows, strict=False)
        )
        return "<table>" + "".join(f"<tr>{row}</tr>" for row in rows) + "</table>"
    text = part.units[0].markup
    if part.kind == "heading":
        return f"<h{part.level}>{text}</h{part.level}>"
    if part.kind == "item" and text.startswith("• "):
        return f"<ul><li>{text[2:]}</li></ul>"
    if part.kind == "item" and (number := re.match(r"(\d+)\. ", text)):
        return f'<ol start="{number[1]}"><li>{text[number.end() :]}</li></ol>'
    return f"<p>{text}</p>"


def _cells() -> Iterator[str]:
    yield "th"
    while True:
        yield "td"


def _write_docx(parts: list[Element], target: Path) -> None:
    document = docx.Document()
    document.core_properties.title = parts[0].units[0].plain
    document.sections[0].header.paragraphs[0].text = "Ostrey Valley Hydrometric Trust"
    document.sections[0].footer.paragraphs[0].text = "For members of staff"
    for part in parts:
        if part.kind == "table":
            rows = list(part.rows)
            table = document.add_table(len(rows), part.level, style="Table Grid")
            for row, cells in enumerate(rows):
                for column, unit in enumerate(cells):
                    _write_runs(table.cell(row, column).paragraphs[0], unit.markup)
        elif part.kind == "heading":
            _write_runs(document.add_heading(level=part.level), part.units[0].markup)
        else:
            bullet = part.units[0].markup.startswith("• ")
            style = ("List Bullet" if bullet else "List Number") if part.kind == "item" else None
            markup = re.sub(r"\A(?:• |\d+\. )", "", part.units[0].markup) if style else part.units[0].markup
            _write_runs(document.add_paragraph(style=style), markup)
    document.save(str(target))


def _write_runs(paragraph: docx.text.paragraph.Paragraph, markup: str) -> None:
    """Add the words of a markup with their styles."""
    styles: set[str] = set()
    for tag, words in re.findall(r"<([^<>]*)>|([^<>]+)", markup):
        if tag == "br/":
            paragraph.add_run().add_break()
        elif tag:
            (styles.discard if tag[0] == "/" else styles.add)(tag.strip("/"))
        else:
            run = paragraph.add_run(Unit(words).plain)
            run.bold, run.italic = "b" in styles or None, "i" in styles or None
