"""JSON objects with their place in a file: fields are read by type, and errors name file and line."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag.core.adapters import without_repeats
from rag.core.errors import DataError, UserError, closest, together
from rag.core.redaction import without_secrets
from rag.documents.folder.files import gathered, read_lines


@dataclass(frozen=True, slots=True)
class Row:
    """A JSON object and its place. A field that is `null` counts as absent."""

    where: str
    fields: Mapping[str, Any]

    def only(self, known: frozenset[str]) -> "Row":
        """This row; DataError for keys that the format does not have."""
        unknown = [key for key in self.fields if key not in known]
        if unknown:
            raise together(DataError(self.where, f"unknown key {key!r}", closest(key, known)) for key in unknown)
        return self

    def text(self, key: str, default: str | None = None) -> str:
        """A text; without a default it must be there."""
        return str(self._typed(key, default, str, "text in quotes"))

    def name(self, key: str) -> str:
        """A text that must be there and must not be blank."""
        value = self.text(key)
        if not value.strip():
            raise self._refused(key, "text that is not blank")
        return value

    def whole(self, key: str, default: int | None = None) -> int:
        """A whole number; without a default it must be there."""
        return int(self._typed(key, default, int, "a whole number"))

    def truth(self, key: str, default: bool) -> bool:
        """True or false."""
        return bool(self._typed(key, default, bool, "true or false"))

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts, empty where the key is absent."""
        values = self._typed(key, [], list, "a list")
        if not all(isinstance(value, str) for value in values):
            raise self._refused(key, "a list of texts")
        return tuple(values)

    def rows(self, key: str) -> list["Row"]:
        """A list of objects, empty where the key is absent; each knows its own place."""
        return [
            as_row(value, f"{self.where} {key}[{number}]") for number, value in enumerate(self._typed(key, [], list, "a list"))
        ]

    def has(self, key: str) -> bool:
        """Whether the key is there and not null."""
        return self.fields.get(key) is not None

    def _typed(self, key: str, default: Any, kind: type, wanted: str) -> Any:
        value = self.fields[key] if self.has(key) else default
        if value is None:
            listed = ", ".join(self.fields) or "nothing"
            raise DataError(self.where, f"there is no {key!r}, only: {listed}", f"add {key!r}, {wanted}")
        if type(value) is not kind:
            raise self._refused(key, wanted)
        return value

    def _refused(self, key: str, wanted: str) -> DataError:
        return DataError(self.where, f"{key!r} is {shortened(json.dumps(self.fields[key]))}", f"write {wanted}")


def read_rows(path: Path, problems: list[UserError] | None = None) -> Iterator[Row]:
    """Every line of a JSONL file; DataError with `file:line` for an invalid line, added to `problems` unless that is None."""
    for where, line in read_lines(path, problems):
        row = None
        with gathered(problems):
            row = parse_row(line, where)
        if row:
            yield row


def parse_row(text: str, where: str) -> Row:
    """A JSON text as a row; DataError for a repeated key, of which one value would be lost."""
    return as_row(parse_json(text, where), where)


def parse_json(text: str, where: str) -> Any:
    """A JSON text as Python values; DataError for text that UTF-8 cannot encode (half a surrogate pair)."""
    try:
        value = json.loads(text, object_pairs_hook=without_repeats)
        if "\\u" in text:
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError as error:
        raise DataError(where, "an escape \\ud800 to \\udfff is not part of a pair", "write the character itself") from error
    except (ValueError, RecursionError) as error:
        raise DataError(where, f"is not valid JSON: {error}", "write one JSON object") from error
    return value


def as_row(value: object, where: str) -> Row:
    """A JSON value as a row; DataError unless it is an object."""
    if not isinstance(value, dict):
        raise DataError(where, f"is {shortened(json.dumps(value))}, not a JSON object", "write {…}")
    return Row(where, value)


def shortened(text: str, width: int = 60) -> str:
    """A text without secrets, short enough for a message, on one line."""
    text = " ".join(without_secrets(text)[: 4 * width].split())
    return text if len(text) <= width else text[: width - 1] + "…"
