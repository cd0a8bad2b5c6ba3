"""Presentations (Office Open XML) → Markdown, a page for every slide."""

import io
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar

from rag.components.parsers.markdown_text import MarkdownText, one_line
from rag.components.parsers.office_properties import properties
from rag.components.parsers.refusals import refusal
from rag.components.parsers.zip_limits import checked_zip, transitional
from rag.core.records import Block, Parsed

MARGINALIA = ("DATE", "FOOTER", "HEADER", "SLIDE_NUMBER")
"""Types of placeholders for text around the content."""


class PptxParser:
    """Presentations: titles are headings, paragraphs of one frame a list, with tables and the words on pictures.

    The notes of the speaker follow their slide as footnotes. Boxes are those of the shapes.
    """

    suffixes: ClassVar[tuple[str, ...]] = ("pptx",)
    in_process: ClassVar[bool] = False

    def parse(self, data: bytes, name: str) -> Parsed:
        """All slides; DataError for another, an encrypted or a damaged file."""
        from pptx import Presentation

        archive = checked_zip(data, name, "a presentation")
        with refusal(name, "a presentation"):
            deck = Presentation(io.BytesIO(transitional(archive, data)))
            text, slides = MarkdownText(), list(deck.slides)
            for number, slide in enumerate(slides, 1):
                title, place = slide.shapes.title, Block("", 0, 0, number)
                if title is not None:
                    text.heading(1, title.text_frame.text, _place(title, place, deck))
                for shape in _shapes(slide.shapes):
                    if title is None or shape.shape_id != title.shape_id:
                        _add(text, shape, _place(shape, place, deck))
                if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
                    text.paragraph(slide.notes_slide.notes_text_frame.text, place, kind="footnote")
            return text.parsed(properties(deck.core_properties), len(slides))


def _shapes(shapes: Any) -> Iterator[Any]:
    """All shapes, with those in groups."""
    for shape in shapes:
        if hasattr(shape, "shapes"):
            yield from _shapes(shape.shapes)
        else:
            yield shape


def _place(shape: Any, place: Block, deck: Any) -> Block:
    """The place of a shape on its slide; shapes in groups have coordinates of their own, and no box if they leave the slide."""
    edges = (shape.left, shape.top, shape.width, shape.height)
    if None in edges or not deck.slide_width or not deck.slide_height:
        return place
    left, top = shape.left / deck.slide_width, shape.top / deck.slide_height
    box = (left, top, left + shape.width / deck.slide_width, top + shape.height / deck.slide_height)
    return replace(place, boxes=(box,)) if 0 <= left <= box[2] <= 1 and 0 <= top <= box[3] <= 1 else place


def _add(text: MarkdownText, shape: Any, place: Block) -> None:
    if getattr(shape, "has_table", False):
        cells = [[None if cell.is_spanned else cell.text for cell in row.cells] for row in shape.table.rows]
        text.table(cells, place)
    elif getattr(shape, "has_text_frame", False) and shape.text_frame.text.strip():
        lines = [(line.level, one_line(line.text)) for line in shape.text_frame.paragraphs if line.text.strip()]
        if shape.is_placeholder and shape.placeholder_format.type and shape.placeholder_format.type.name in MARGINALIA:
            text.paragraph(" ".join(line for _, line in lines), place, kind="marginalia")
        elif len(lines) == 1:
            text.paragraph(lines[0][1], place)
        else:
            text.add("list", "\n".join(f"{'    ' * level}- {line}" for level, line in lines), place)
    elif words := one_line(shape._element.xpath("string(.//p:cNvPr/@descr)")):
        text.add("figure", f"![{words}]()", place)
