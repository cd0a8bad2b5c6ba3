"""Values of JSON or YAML → Markdown that a person can read."""

from collections.abc import Iterable
from datetime import date
from typing import Any

from rag.core.errors import DataError
from rag.core.types import Parsed
from rag.documents.pages.markdown_text import MarkdownText, one_line

TITLES = ("title", "name", "heading", "subject", "headline")
"""Keys of a title, the best first."""
TEXTS = ("text", "content", "body", "markdown", "description", "summary", "abstract", "answer", "message")
"""Keys of text that is written without its key."""
LONG = 200
"""From this length a text is a paragraph."""
DEPTH = 50
"""The deepest nesting."""


def written(values: Iterable[Any], name: str, max_values: int) -> Parsed:
    """The values of the file `name`: titles as headings, long texts as paragraphs, others as items `path.to.key: value`.

    An object in a list is a section. DataError for more than `max_values` values (aliases of YAML count every time) and for
    deep nesting.
    """
    records = _RecordsText(name, max_values)
    for value in values:
        records.add(value)
    return records.text.parsed({})


class _RecordsText:
    def __init__(self, name: str, max_values: int) -> None:
        self.text = MarkdownText()
        self._name, self._left, self._most = name, max_values, max_values

    def add(self, value: Any, path: str = "", depth: int = 0) -> None:
        """Write a value; `path` are the keys above it."""
        self._left -= len(value) if isinstance(value, list) else 1
        if self._left < 0 or depth > DEPTH:
            what = f"is nested more than {DEPTH} levels deep" if depth > DEPTH else f"has more than {self._most:,} values"
            raise DataError(self._name, what, "split or flatten the file, or leave it out")
        if isinstance(value, dict):
            self._object(value, path, depth)
        elif isinstance(value, list) and any(isinstance(item, dict | list) for item in value):
            for number, item in enumerate(value):
                if isinstance(item, dict):
                    self.text.heading(max(depth, 1) + 1, _title(item) or f"{path}[{number}]")
                self.add(item, "" if isinstance(item, dict) else f"{path}[{number}]", depth + 1)
        elif isinstance(value, list):
            self._scalar(", ".join(filter(None, map(_shown, value))), path)
        else:
            self._scalar(_shown(value), path)

    def _object(self, fields: dict[Any, Any], path: str, depth: int) -> None:
        title = _title(fields)
        if depth == 0 and title:
            self.text.heading(1, title)
        for key, value in fields.items():
            if not (value == title and key in TITLES and not path):
                self.add(value, f"{path}.{key}" if path else str(key), depth + 1)

    def _scalar(self, text: str, path: str) -> None:
        key = path.rpartition(".")[2]
        if key.lower() in TEXTS or len(text) > LONG or "\n" in text:
            self.text.add("text", text if key.lower() in TEXTS or not path else f"{path}:\n{text}")
        elif text:
            self.text.add("list", f"- {path}: {text}" if path else f"- {text}")


def _title(fields: dict[Any, Any]) -> str:
    return next((fields[key] for key in TITLES if isinstance(fields.get(key), str) and one_line(fields[key])), "")


def _shown(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return "" if value is None else str(value).lower()
    return value.isoformat() if isinstance(value, date) else str(value)
