"""JSON and JSON lines → Markdown."""

import json
from typing import Any, ClassVar

from rag.components.parsers.parsed_json import parsed_document
from rag.components.parsers.records_text import written
from rag.components.parsers.refusals import refusal, utf8
from rag.core.types import Parsed


class JsonParser:
    """JSON files and files with a JSON value on every line.

    Titles of objects are headings, long texts are paragraphs, other values are items with the path of their keys. The JSON of a
    document-parsing service is known by its keys and becomes the document that it describes.
    """

    suffixes: ClassVar[tuple[str, ...]] = ("json", "jsonl")
    in_process: ClassVar[bool] = False

    def __init__(self, max_values: int) -> None:
        self.max_values = max_values

    def parse(self, data: bytes, name: str) -> Parsed:
        """The values; DataError for text that is not JSON, with the line of JSON lines."""
        text = utf8(data, name, "JSON")
        if name.lower().endswith(".jsonl"):
            value: Any = [_read(line, f"{name}:{number}") for number, line in enumerate(text.split("\n"), 1) if line.strip()]
        else:
            value = _read(text, name)
        with refusal(name, "JSON"):
            return parsed_document(value, name) or written([value], name, self.max_values)


def _read(text: str, where: str) -> Any:
    with refusal(where, "JSON"):
        return json.loads(text, parse_constant=str)
