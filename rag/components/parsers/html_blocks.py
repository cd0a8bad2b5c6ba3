"""Elements of HTML, or of the tree that trafilatura makes of it, → blocks of Markdown."""

import re
from collections.abc import Callable, Iterator
from typing import Any

from rag.documents.pages.markdown_text import Cell, MarkdownText, Row, one_line

HEADING = re.compile(r"h([1-6])")
LISTS, ITEMS = ("ul", "ol", "dl", "menu", "list"), ("li", "item", "dt", "dd")
ROWS, CELLS = ("tr", "row"), ("td", "th", "cell")
NEVER = ("script", "style", "template", "noscript", "svg", "math", "object", "select", "textarea", "iframe")
"""Elements without words for a reader."""
PARTS: tuple[str, ...] = ("p", "div", "section", "article", "main", "body", "header", "footer", "nav", "aside", "form", "ab")
PARTS += ("center", "hgroup", "search", "quote", "blockquote", "figure", "figcaption", "details", "summary", "hr", "fieldset")
BLOCKS = frozenset((*PARTS, *ITEMS, *ROWS, *CELLS, "caption", "address", "thead", "tbody", "tfoot"))
WIDEST = 1000
"""The most columns that a cell may span."""


def tree_of(text: str) -> Any:
    """The elements of a page; nothing that it names is fetched. RecursionError where libxml2 left out what is nested deeply."""
    from lxml.etree import ErrorTypes
    from lxml.html import HTMLParser, document_fromstring

    parser = HTMLParser(remove_comments=True, remove_pis=True, no_network=True, huge_tree=True)
    tree = document_fromstring(re.sub(r"\A\s*<\?xml[^>]*\?>", "", text) or "<p></p>", parser=parser)
    if parser.error_log.filter_types([ErrorTypes.ERR_RESOURCE_LIMIT]):
        raise RecursionError
    return tree


def shown_text(node: Any) -> str:
    """The words of an element, without those that no reader sees."""
    return "".join(_texts(node))


def _texts(node: Any, without: tuple[str, ...] = ()) -> Iterator[str]:
    """The texts of an element in order; line breaks where elements break lines, and nothing of the elements in `without`."""
    yield node.text or ""
    for child in node:
        tag = child.tag
        if isinstance(tag, str) and tag not in NEVER and tag not in without:
            breaks = "\n" if tag in ("br", "lb") or tag in BLOCKS or tag in LISTS else ""
            yield breaks
            yield from _texts(child, without)
            yield breaks
        yield child.tail or ""


class HtmlBlocks:
    """Adds the elements of a page to a text, in order; `title` is written first, unless it is the first heading."""

    def __init__(self, title: str = "", text: MarkdownText | None = None) -> None:
        self.text = text or MarkdownText()
        self.title = one_line(title)
        self._words: list[str] = []

    def read(self, root: Any) -> None:
        """Add all text below an element."""
        first = next((node for node in root.iter() if _level(node)), None)
        if self.title and (first is None or one_line(shown_text(first)).lower() not in self.title.lower()):
            self.text.heading(1, self.title)
        self._read(root)
        self._flush()

    def _flush(self) -> None:
        lines = (one_line(line) for line in "".join(self._words).split("\n"))
        self.text.add("text", "\n".join(filter(None, lines)))
        self._words = []

    def _add(self, text: str | None) -> None:
        """Inline text, in which white space is a space."""
        if text:
            space = " " if text[0].isspace() else ""
            self._words.append(f"{space}{one_line(text)}{' ' if text[-1].isspace() else ''}")

    def _read(self, node: Any) -> None:
        self._add(node.text)
        for child in node:
            tag = child.tag
            if isinstance(tag, str) and tag not in NEVER:
                self._read_element(child, tag)
            self._add(child.tail)

    def _read_element(self, node: Any, tag: str) -> None:
        level = _level(node)
        if level or tag in LISTS or tag in BLOCKS or tag in ("table", "pre") or _is_code(node):
            self._flush()
        if tag == "img" and (words := one_line(node.get("alt") or "")):
            self._flush()
            self.text.add("figure", f"![{words}]()")
        elif level:
            self.text.heading(level, shown_text(node))
        elif tag in LISTS:
            self._list(node, 0)
        elif tag == "table":
            self._table(node)
        elif tag == "pre" or _is_code(node):
            self.text.code("".join(_texts(node)))
        elif tag in ("br", "lb"):
            self._words.append("\n")
        elif tag == "code" and (words := one_line(shown_text(node))) and "`" not in words:
            self._words.append(f"`{words}`")
        else:
            self._read(node)
        if tag in BLOCKS:
            self._flush()

    def _list(self, node: Any, depth: int) -> None:
        number = 0
        is_ordered = node.tag == "ol" or node.get("rend") == "ol"
        for child in node:
            if child.tag in ITEMS:
                number += 1
                mark = f"{number}." if is_ordered else "-"
                if words := one_line("".join(_texts(child, without=LISTS))):
                    self.text.add("list", f"{'    ' * min(depth, 8)}{mark} {words}")
                for inner in child.iterdescendants(*LISTS):
                    if next(above for above in inner.iterancestors(*ITEMS)) is child:
                        self._list(inner, depth + 1)
            elif child.tag in LISTS:
                self._list(child, depth + 1)

    def _table(self, table: Any) -> None:
        cells = [cell for cell in table.iter(*CELLS) if next(cell.iterancestors("table")) is table]
        if len(cells) <= 1 or next(table.iterdescendants("table"), None) is not None:
            self._read(table)  # A table for the layout of a page.
            return
        for caption in table.iterchildren("caption"):
            self.text.add("text", one_line(shown_text(caption)))
        self.text.add_table(table_grid(table))


def table_grid(table: Any, content: Callable[[Any], Cell | str] = shown_text) -> list[Row]:
    """The rows of a table with the content of every element; None where a cell covers more than one place."""
    rows = [[cell for cell in row if cell.tag in CELLS] for row in table.iter(*ROWS)]
    covered: set[tuple[int, int]] = set()
    grid: list[Row] = []
    for number, row in enumerate(rows):
        line: list[Cell | str | None] = []
        for cell in row:
            while (number, len(line)) in covered:
                line.append(None)
            width, height = _span(cell, "colspan"), min(_span(cell, "rowspan"), len(rows) - number)
            covered.update((number + down, len(line) + right) for down in range(1, height) for right in range(width))
            line += [content(cell), *[None] * (width - 1)]
        grid.append(line)
    return grid


def _span(cell: Any, name: str) -> int:
    span = cell.get(name) or "1"
    return min(max(int(span), 1), WIDEST) if span.isdecimal() and len(span) < 6 else 1


def _level(node: Any) -> int:
    """The level of a heading, 0 for another element."""
    tag = node.get("rend", "h2") if node.tag == "head" else node.tag
    match = HEADING.fullmatch(tag) if isinstance(tag, str) else None
    return int(match[1]) if match else 0


def _is_code(node: Any) -> bool:
    return node.tag == "code" and (node.text or "").count("\n") + len(node.findall("lb")) > 0
