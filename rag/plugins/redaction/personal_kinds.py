"""Kinds of personal data that patterns can find."""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import re2

NEAR = 60
"""Bytes before a value in which a word must stand."""


@lru_cache(maxsize=1)
def kinds_file() -> bytes:
    """The file with the kinds."""
    return (Path(__file__).parent / "conf" / "redaction" / "personal.toml").read_bytes()


@dataclass(frozen=True)
class Kind:
    """A pattern for one kind of personal data; `words` and `check` as in personal.toml."""

    name: str
    regex: str
    check: str
    words: tuple[str, ...]
    hint: str

    @cached_property
    def pattern(self) -> Any:
        """The compiled pattern, for bytes."""
        return re2.compile(self.regex.encode())

    @cached_property
    def _words(self) -> Any:
        return re2.compile((r"(?i)\b(?:" + "|".join(map(re2.escape, self.words)) + ")").encode())

    def candidates(self, data: bytes) -> Iterator[tuple[int, int]]:
        """The places of the pattern in a text in UTF-8."""
        if self.hint.encode() in data:
            yield from (match.span() for match in self.pattern.finditer(data))

    def near_word(self, data: bytes, start: int) -> bool:
        """Whether one of the words is near a value that begins at `start`."""
        return bool(self.words) and self._words.search(data[max(0, start - NEAR) : start]) is not None


@lru_cache(maxsize=1)
def kinds() -> tuple[Kind, ...]:
    """All kinds, some with several patterns."""
    tables = tomllib.loads(kinds_file().decode())["kinds"]
    return tuple(
        Kind(each["id"], each["regex"], each.get("check", ""), tuple(each.get("words", ())), each.get("hint", ""))
        for each in tables
    )


def kind_names() -> list[str]:
    """The names of all kinds, in the order of the file."""
    return list(dict.fromkeys(kind.name for kind in kinds()))
