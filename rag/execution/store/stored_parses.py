"""Contents of files, redacted, by the bytes of the file: an unchanged file is not parsed again."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rag.config.identity import code_identity, digest
from rag.core.roles import Parser, Redactor
from rag.core.types import Parsed
from rag.documents.pages import parsed_format
from rag.documents.reading import Unreadable
from rag.execution.store.store import Entry, Store

READING = "rag.documents.reading"
"""The module whose code, with all that it imports, is in the key of every content: limits, redaction, format."""


class StoredRedactor:
    """A redactor whose identity is known: it is in the keys of stored contents."""

    def __init__(self, redactor: Redactor, identity: Callable[[], str]) -> None:
        self.redactor, self.identity = redactor, identity

    def find(self, text: str) -> Sequence[tuple[int, int, str]]:
        """The values that the redactor finds."""
        return self.redactor.find(text)


class StoredParser:
    """A parser whose contents are stored, redacted, by bytes and suffix of the file, and by the identity of the redactor.

    Failures that the same bytes would meet again are stored, too. With a redactor of unknown identity nothing is stored.
    """

    def __init__(self, parser: Parser, store: Store, identity: Callable[[], str]) -> None:
        self.parser, self.store, self.identity = parser, store, identity
        self.suffixes: tuple[str, ...] = parser.suffixes
        self.in_process: bool = parser.in_process
        self._spaces: dict[tuple[str, str], str] = {}

    def parse(self, data: bytes, name: str) -> Parsed:
        """The content of the parser; nothing is stored, because it is not redacted."""
        return self.parser.parse(data, name)

    def find(self, sha256: str, suffix: str, redactor: Redactor) -> Parsed | Unreadable | None:
        """The stored content; None where there is none, or where it was damaged."""
        key = self._key(sha256, suffix, redactor)
        entry = self.store.read(key) if key else None
        if entry is None:
            return None
        self.store.touch(key)
        return Unreadable(**entry.meta["failure"]) if "failure" in entry.meta else parsed_format.from_json(entry.meta)

    def has(self, sha256: str, suffix: str, redactor: Redactor) -> bool:
        """Whether a content is stored."""
        key = self._key(sha256, suffix, redactor)
        return bool(key) and self.store.has(key)

    def keep(self, sha256: str, suffix: str, redactor: Redactor, content: Parsed | Unreadable) -> None:
        """Store a content that is redacted."""
        if key := self._key(sha256, suffix, redactor):
            self.store.write(key, Entry(meta=_meta(content)))

    def record(self, seconds: float, size: int) -> None:
        """Store how fast files were parsed, for the estimates of later plans."""
        if size:
            self.store.write(self._rate_key, Entry(meta={"seconds": seconds / size}))

    def rate(self) -> float | None:
        """Seconds for a byte, as recorded last for parsers of this class; None if none was."""
        return (self.store.read_meta(self._rate_key) or {}).get("seconds")

    @property
    def _rate_key(self) -> str:
        return f"rates/{digest('parse', type(self.parser).__module__, type(self.parser).__qualname__)}"

    def _key(self, sha256: str, suffix: str, redactor: Redactor) -> str:
        if not isinstance(redactor, StoredRedactor):
            return ""
        known = (suffix, redactor.identity())
        if known not in self._spaces:
            self._spaces[known] = digest(self.identity(), *known, code_identity(READING))
        return f"parses/{self._spaces[known]}/{sha256}"


def _meta(content: Parsed | Unreadable) -> Mapping[str, Any]:
    if isinstance(content, Parsed):
        return parsed_format.to_json(content)
    return {"failure": {"reason": content.reason, "detail": content.detail}}
