"""Read the JSON and the texts of untrusted bundles strictly, and write the JSON of our own."""

import json
import math
import unicodedata
from collections import Counter
from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import AfterValidator

from rag.bundle.errors import BundleError, refused

LINE = 64 << 20
"""Largest line of a JSONL file, in bytes."""
NAME_LENGTH = 1024
INVISIBLE = ("Cc", "Cs", "Zl", "Zp")
"""Unicode categories of controls, surrogates and line ends; blanks of other scripts are allowed."""
DIRECTIONS = "\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
"""Characters that change the direction of a line."""


def json_of(data: bytes | bytearray | memoryview, where: str) -> Any:
    """Parse a JSON value; BundleError for a repeated name, NaN, a number that overflows, and too deep nesting."""

    def mapping(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        values = dict(pairs)
        if len(values) < len(pairs):
            name, _ = Counter(name for name, _ in pairs).most_common(1)[0]
            raise refused(where, f"names {name!r} twice")
        return values

    def constant(name: str) -> float:
        raise refused(where, f"holds {name}, which is not a JSON number")

    def number(text: str) -> float:
        if not math.isfinite(float(text)):
            raise refused(where, f"holds {text[:40]}, which is too large")
        return float(text)

    try:
        text = bytes(data).decode("utf-8")
        return json.loads(text, object_pairs_hook=mapping, parse_constant=constant, parse_float=number)
    except BundleError:
        raise
    except RecursionError as error:
        raise refused(where, "nests too deep") from error
    except ValueError as error:
        raise refused(where, f"is not valid JSON: {error}") from error


def lines_of(data: bytes, where: str) -> Iterator[Any]:
    """Parse a JSONL file, one value per line; BundleError as in `json_of`, for a long line, and for an unfinished one."""
    start, number = 0, 1
    if data and not data.endswith(b"\n"):
        raise refused(where, "ends within a line")
    while start < len(data):
        end = data.index(b"\n", start)
        if end - start > LINE:
            raise refused(f"{where}:{number}", f"has {end - start:,} bytes", f"a line has at most {LINE:,}")
        yield json_of(memoryview(data)[start:end], f"{where}:{number}")
        start, number = end + 1, number + 1


def json_bytes(value: Any, indent: int | None = None) -> bytes:
    """A JSON value in UTF-8 with a line break at the end; ValueError for NaN and infinity.

    Lone surrogates cannot be encoded in UTF-8: a value that holds one is written as ASCII with escapes.
    """
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent).encode() + b"\n"
    except UnicodeEncodeError:
        return json.dumps(value, allow_nan=False, indent=indent).encode() + b"\n"


def is_name(text: str) -> bool:
    """Whether a text may be a doc_id: 1 to `NAME_LENGTH` characters, all visible."""
    return 0 < len(text) <= NAME_LENGTH and is_visible(text)


def is_visible(text: str) -> bool:
    """Whether a text holds no control character, no surrogate, and nothing that changes the direction of a line."""
    return not any(unicodedata.category(char) in INVISIBLE or char in DIRECTIONS for char in text if not char.isprintable())


def is_encodable(text: str) -> bool:
    """Whether a text can be encoded in UTF-8: it holds no lone surrogate."""
    return text.isascii() or not any("\ud800" <= char <= "\udfff" for char in text)


def encodable(text: str) -> str:
    """The text; ValueError if it holds half of a surrogate pair, which JSON can express and UTF-8 cannot."""
    if not is_encodable(text):
        raise ValueError("holds half of a surrogate pair")
    return text


Text = Annotated[str, AfterValidator(encodable)]
