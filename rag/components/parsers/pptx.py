"""Presentations (Office Open XML) → Markdown, a page for every slide."""

from typing import Any, ClassVar

from rag.components.parsers.office_files import office_file, properties
from rag.core.types import Parsed
from rag.documents.pages.markdown_text import MarkdownText, one_line

P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
"""The same shape again, for programs that do not know its first form."""
TITLES, MARGINALIA = ("title", "ctrTitle"), ("dt", "ftr", "hdr", "sldNum")
"""Types of placeholders for titles, and for text around the content."""


class PptxParser:
    """Presentations: titles are headings, paragraphs of one frame a list, with tables and the words on pictures.

    The notes of the speaker follow their slide as footnotes.
    """

    suffixes: ClassVar[tuple[str, ...]] = ("pptx",)
    in_process: ClassVar[bool] = False

    def parse(self, data: bytes, name: str) -> Parsed:
        """All slides; DataError for another, an encrypted or a damaged file."""
        from pptx import Presentation

        with office_file(data, name, "a presentation") as (file, notes):
            deck = Presentation(file)
            text, slides = MarkdownText(), list(deck.slides)
            for number, slide in enumerate(slides, 1):
                for copy in list(slide.element.iter(FALLBACK)):
                    copy.getparent().remove(copy)
                shapes = slide.element.iter(P + "sp", P + "graphicFrame", P + "pic")
                for shape in sorted(shapes, key=lambda node: _role(node) not in TITLES):
                    _add(text, shape, number)
                if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
                    text.add("footnote", slide.notes_slide.notes_text_frame.text, number)
            frames = [frame for slide in slides for frame in slide.element.iter(P + "graphicFrame")]
            drawn = sum(frame.find(f".//{A}tbl") is None for frame in frames)
            notes += [f"charts and diagrams left out: {drawn}"] if drawn else []
            return text.parsed(properties(deck.core_properties), len(slides), notes)


def _role(shape: Any) -> str:
    """The type of a placeholder; empty for other shapes."""
    found = shape.find(f"{P}nvSpPr/{P}nvPr/{P}ph")
    return "" if found is None else str(found.get("type", "obj"))


def _text(node: Any) -> str:
    """The text of a paragraph or of a cell, formulas as LaTeX; a line break is a space."""
    from rag.components.parsers.docx_math import M, latex  # plans build the parser and read no file

    pieces = []
    for part in node.iter(A + "t", A + "br", A + "p", M + "oMath"):
        pieces.append(f" ${latex(part)}$ " if part.tag == M + "oMath" else part.text or "" if part.tag == A + "t" else " ")
    return one_line("".join(pieces))


def _add(text: MarkdownText, shape: Any, page: int) -> None:
    role, lines = _role(shape), list[tuple[int, str]]()
    for line in shape.iterfind(f"{P}txBody/{A}p"):
        style = line.find(A + "pPr")
        lines += [(int(style.get("lvl", "0")) if style is not None else 0, words)] if (words := _text(line)) else []
    if (table := shape.find(f".//{A}tbl")) is not None:
        text.add_table([[_cell(cell) for cell in row.iterfind(A + "tc")] for row in table.iterfind(A + "tr")], page)
    elif role in TITLES:
        text.heading(1, " ".join(line for _, line in lines), page)
    elif role in MARGINALIA or len(lines) == 1:
        text.add("marginalia" if role in MARGINALIA else "text", " ".join(line for _, line in lines), page)
    elif lines:
        text.add("list", "\n".join(f"{'    ' * min(level, 8)}- {line}" for level, line in lines), page)
    elif (words := one_line(shape.xpath("string(.//p:cNvPr/@descr)"))) and shape.tag == P + "pic":
        text.add("figure", f"![{words}]()", page)


def _cell(cell: Any) -> str | None:
    """The text of a cell; None where a merged cell covers its place."""
    return None if "1" in (cell.get("hMerge"), cell.get("vMerge")) else _text(cell)
