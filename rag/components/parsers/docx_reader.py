"""The body, headers and footers of a Word document as Markdown."""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any

from rag.components.parsers.docx_styles import VAL, Numbering, Style, Styles, W, number_of, outline_level, value
from rag.components.parsers.docx_text import PAGE, Inline
from rag.components.parsers.office_files import properties
from rag.core.types import Parsed
from rag.documents.pages.markdown_text import MarkdownText, one_line

WRAPPERS = tuple(W + name for name in ("sdt", "sdtContent", "ins", "moveTo", "customXml", "smartTag"))
STYLE = f"{W}pPr/{W}pStyle"
PARAGRAPH, TABLE, ROW, CELL = (W + name for name in ("p", "tbl", "tr", "tc"))


class DocxReader:
    """Reads one document."""

    def __init__(self, document: Any) -> None:
        self.document, self.text, self.left_out = document, MarkdownText(), Counter[str]()
        self.styles, self.numbering = Styles(document.styles.element), Numbering(self._parts("numbering"))
        self.notes = {kind: {note.get(W + "id"): note for note in self._notes(kind)} for kind in ("footnotes", "endnotes")}
        body = document.element.body
        self.page = 1 if next(body.iter(W + "lastRenderedPageBreak"), None) is not None else 0
        used = {node.get(VAL) for node in body.iter(W + "pStyle")}
        # A title is the heading of level 1, and the others move down.
        self.shift = int(any(self.styles.of(name).level == 0 for name in used))

    def read(self, notes: list[str]) -> Parsed:
        """The document with its body first, then headers and footers, and with more notes."""
        self._blocks(self.document.element.body)
        pages = self.page
        texts = [one_line(" ".join(self._words(part))) for part in self._parts("header", "footer")]
        for text in dict.fromkeys(text for text in texts if re.search(r"[^\W\d_]", text)):
            self.text.add("marginalia", text)
        self.left_out["comments"] = len(self._notes("comments"))
        notes += [f"{what} left out: {count}" for what, count in sorted(self.left_out.items()) if count]
        return self.text.parsed(properties(self.document.core_properties), pages, notes)

    def _parts(self, *kinds: str) -> Iterator[Any]:
        """The roots of the parts of some kinds."""
        from docx.oxml.parser import parse_xml

        for relation in self.document.part.rels.values():
            if relation.reltype.rpartition("/")[2] in kinds and not relation.is_external:
                yield parse_xml(relation.target_part.blob)

    def _notes(self, kind: str) -> list[Any]:
        """The notes of a part, without the lines that separate them from the text."""
        return [note for part in self._parts(kind) for note in part if note.get(W + "type", "normal") == "normal"]

    def _blocks(self, container: Any) -> None:
        for node in _content(container):
            if node.tag == PARAGRAPH:
                self._paragraph(node)
            elif node.tag == TABLE:
                self._table(node)
            elif node.tag == W + "altChunk":
                self.left_out["embedded documents"] += 1

    def _inline(self, node: Any) -> Inline:
        inline = Inline().read(node)
        self.left_out.update(inline.left_out)
        return inline

    def _label(self, node: Any, style: Style) -> tuple[str, int] | None:
        """The label of a paragraph in a list, and its level; None for other paragraphs."""
        number = number_of(node.find(W + "pPr"), style.number)
        return None if number is None else (self.numbering.label(number), number[1])

    def _paragraph(self, node: Any) -> None:
        style, inline = self.styles.of(value(node, STYLE)), self._inline(node)
        level = outline_level(node) or style.level
        label, text = self._label(node, style), inline.text
        words = text.strip()
        before = text[: len(text) - len(text.lstrip())]
        if level is not None and words:
            self._turn(before)
            self.text.heading(level + self.shift, f"{label[0] if label else ''} {words}", self.page)
            self._turn(words)
        elif label and words:
            mark = label[0] if re.fullmatch(r"\d+\.", label[0]) else f"- {label[0]}".strip()
            item = words.replace("\n", " ")
            self._pieces("list", f"{before}{'    ' * min(label[1], 8)}{mark} {item}")
        elif style.is_code:
            self._turn(text)
            self.text.code(text.replace(PAGE, ""), page=self.page)
        else:
            self._pieces("text", text)
        self._appended(inline)

    def _turn(self, text: str) -> None:
        self.page += text.count(PAGE) if self.page else 0

    def _pieces(self, kind: str, text: str) -> None:
        """A block for each page of a paragraph."""
        joint = None
        for number, piece in enumerate(text.split(PAGE)):
            self._turn(PAGE if number else "")
            self.text.add(kind, piece, self.page, joint=joint)
            joint = " " if piece.strip() else joint

    def _appended(self, inline: Inline) -> None:
        """The footnotes, pictures and text boxes of a paragraph."""
        for words in inline.pictures:
            if words := one_line(words):
                self.text.add("figure", f"![{words}]()", self.page)
        for kind, name in inline.notes:
            if (note := self.notes[kind].pop(name, None)) is not None:
                self.text.add("footnote", one_line(" ".join(self._words(note))), self.page)
        for box in inline.boxes:
            self._blocks(box)

    def _table(self, table: Any) -> None:
        rows = [list(_content(row, CELL)) for row in _content(table, ROW)]
        if len(rows) == 1 and len(rows[0]) == 1:
            self._blocks(rows[0][0])
            return
        cells, pages, after = list[list[str | None]](), list[int](), Inline()
        for node, row in zip(_content(table, ROW), rows, strict=True):
            line: list[str | None] = [None] * _span(node, f"{W}trPr/{W}gridBefore")
            for cell in row:
                words = "" if _is_continued(cell) else " ".join(self._words(cell, after))
                line += [words, *[None] * (_span(cell, f"{W}tcPr/{W}gridSpan") - 1)]
            joined = "".join(text or "" for text in line)
            first = joined[: len(joined) - len(joined.lstrip())].count(PAGE) if self.page else 0
            pages.append(self.page + first)
            self._turn(joined)
            cells.append(line)
        for number, (page, part) in enumerate(groupby(zip(pages, cells, strict=True), itemgetter(0))):
            rows_of_page = [line for _, line in part]
            self.text.add_table(rows_of_page, page, width=max(map(len, cells)), is_continued=number > 0)
        self._appended(after)

    def _words(self, container: Any, after: Inline | None = None) -> Iterator[str]:
        """The texts of the paragraphs in a cell or a note, with the labels of lists; tables in it as their cells.

        `after` gets the notes that the paragraphs name.
        """
        for node in _content(container):
            if node.tag == PARAGRAPH:
                inline, label = self._inline(node), self._label(node, self.styles.of(value(node, STYLE)))
                mark = f"{label[0] or '-'} " if label and inline.text.strip() else ""
                yield mark + inline.text
                for box in inline.boxes:
                    yield from self._words(box)
                if after is not None:
                    after.notes += inline.notes
            elif node.tag == TABLE:
                for row in _content(node, ROW):
                    for cell in _content(row, CELL):
                        yield from self._words(cell, after)


def _content(container: Any, tag: str = "") -> Iterator[Any]:
    """The children of an element with a tag, also those in content controls and tracked insertions; all without a tag."""
    for node in container:
        if node.tag in WRAPPERS:
            yield from _content(node, tag)
        elif node.tag == tag or not tag:
            yield node


def _span(node: Any, path: str) -> int:
    """A number of columns; Word allows 63."""
    columns = value(node, path) or "0"
    return min(int(columns), 63) if columns.isdecimal() else 0


def _is_continued(cell: Any) -> bool:
    """True for a cell that the merged cell above covers."""
    merged = cell.find(f"{W}tcPr/{W}vMerge")
    return merged is not None and merged.get(VAL, "continue") == "continue"
