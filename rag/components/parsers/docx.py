"""Word documents (Office Open XML) → Markdown."""

from typing import ClassVar

from rag.components.parsers.office_files import office_file
from rag.core.types import Parsed


class DocxParser:
    """Word documents: headings by style, lists, tables, formulas (LaTeX), footnotes, text boxes; headers and footers last.

    Insertions that are tracked are text, deletions, comments and hidden texts are left out. Notes follow the paragraph that
    names them. Pages are those of the last rendering that the file keeps, 0 if it keeps none. The text of a merged cell is in
    its first place.
    """

    suffixes: ClassVar[tuple[str, ...]] = ("docx",)
    in_process: ClassVar[bool] = False

    def parse(self, data: bytes, name: str) -> Parsed:
        """The document; DataError for another, an encrypted or a damaged file."""
        from docx import Document

        from rag.components.parsers.docx_reader import DocxReader  # plans build the parser and read no file

        with office_file(data, name, "a Word document") as (file, notes):
            return DocxReader(Document(file)).read(notes)
