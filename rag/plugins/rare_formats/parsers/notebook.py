"""Jupyter notebooks → Markdown: cells and the texts of their outputs."""

import json
from typing import Any, ClassVar

from rag.components.parsers.refusals import refusal, utf8
from rag.core.errors import DataError
from rag.core.types import Parsed
from rag.documents.pages.markdown_text import MarkdownText


class NotebookParser:
    """Notebooks of version 4. Nothing is run; an output of more than `max_output` characters is cut, and a note says so."""

    suffixes: ClassVar[tuple[str, ...]] = ("ipynb",)
    in_process: ClassVar[bool] = False

    def __init__(self, max_output: int) -> None:
        self.max_output = max_output

    def parse(self, data: bytes, name: str) -> Parsed:
        """The cells; DataError for another file."""
        source = utf8(data, name, "a notebook")
        with refusal(name, "a notebook"):
            book = json.loads(source)
            if not isinstance(book, dict) or not isinstance(book.get("cells"), list):
                raise DataError(name, "is not a notebook of version 4: it has no list of cells", "save it with Jupyter again")
            language = str(book.get("metadata", {}).get("kernelspec", {}).get("language", ""))
            text, cut = MarkdownText(), 0
            for cell in book["cells"]:
                if cell.get("cell_type") == "code":
                    text.code(_joined(cell.get("source", "")), language)
                    for output in filter(None, map(_output, cell.get("outputs", ()))):
                        cut += len(output) > self.max_output
                        text.code(output[: self.max_output])
                else:
                    text.add("text", _joined(cell.get("source", "")), is_markdown=True)
            return text.parsed({}, notes=[f"{cut} outputs cut to {self.max_output:,} characters"] if cut else [])


def _joined(source: Any) -> str:
    return "".join(source) if isinstance(source, list) else str(source)


def _output(output: dict[str, Any]) -> str:
    """The text of an output; empty for pictures."""
    if output.get("output_type") == "error":
        return f"{output.get('ename', '')}: {output.get('evalue', '')}"
    return _joined(output.get("text") or output.get("data", {}).get("text/plain", ""))
