"""Secrets, and personal data by pattern."""

import hashlib
import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import re2

from rag.core.errors import ConfigError, closest
from rag.core.secrets.finder import in_characters, secret_finds
from rag.core.secrets.places import Find, stable
from rag.core.secrets.shapes import rules_digest
from rag.plugins.redaction.keep_policy import KeepPolicy
from rag.plugins.redaction.personal_checks import PhonePlan, passes

NEAR = 60
"""Bytes before a value in which a word must stand."""


@lru_cache(maxsize=1)
def kinds_file() -> bytes:
    """The file with the kinds."""
    return (Path(__file__).parents[1] / "conf" / "redaction" / "personal.toml").read_bytes()


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


RANK = 5
JOINED_LEFT, JOINED_RIGHT = re.compile(rb"(?:[0-9A-Za-z][-/]|[0-9])\Z"), re.compile(rb"-[0-9]")
"""Ends of a longer name or number, such as a UUID or a DOI, next to digits."""


class PersonalRedactor:
    """Finds secrets, and personal data of the named `kinds` by pattern; names of persons and street addresses need a model.

    Kept are e-mail addresses of functions (`keep_roles`, the part before `@`), addresses of `keep_domains` and below, the texts
    `keep_values`, with `keep_service_numbers` telephone numbers of services (free, shared cost, premium), and IP addresses that
    are not public.
    `phone_regions` are the countries whose national numbers are known; international ones are known everywhere.
    """

    def __init__(
        self,
        kinds: Sequence[str],
        phone_regions: Sequence[str],
        keep_roles: Sequence[str],
        keep_domains: Sequence[str] = (),
        keep_values: Sequence[str] = (),
        keep_service_numbers: bool = True,
    ) -> None:
        """Raise ConfigError for a kind that does not exist."""
        for kind in kinds:
            if kind not in kind_names():
                raise ConfigError("loader.redactor.kinds", f"there is no kind {kind!r}", closest(kind, kind_names()))
        self.kinds = frozenset(kinds)
        self.policy = KeepPolicy(keep_roles, keep_domains, keep_values)
        self.phones = PhonePlan(phone_regions, keep_service_numbers)

    def fingerprint(self) -> str:
        """A sha256 of the files with the rules."""
        return hashlib.sha256(rules_digest().encode() + kinds_file()).hexdigest()

    def find(self, text: str) -> Sequence[tuple[int, int, str]]:
        """The secrets and the personal data, without overlaps."""
        return [find[:3] for find in stable(text, self._finds)]

    def _finds(self, text: str) -> Iterator[Find]:
        yield from secret_finds(text)
        yield from in_characters(text, self._personal)

    def _personal(self, data: bytes) -> Iterator[Find]:
        for rank, kind in enumerate(kinds(), RANK):
            if kind.name in self.kinds:
                for start, end in kind.candidates(data):
                    value = data[start:end].decode("utf-8", "ignore")
                    if self._is(kind, value, data, start, end) and not self.policy.keeps(value):
                        yield Find(start, end, kind.name, rank)

    def _is(self, kind: Kind, value: str, data: bytes, start: int, end: int) -> bool:
        if kind.check == "phone":
            is_alone = not (JOINED_LEFT.search(data[max(0, start - 2) : start]) or JOINED_RIGHT.match(data[end : end + 2]))
            return self.phones.has(value, is_alone, lambda: kind.near_word(data, start))
        return passes(kind.check, value) and (not kind.words or kind.near_word(data, start))
