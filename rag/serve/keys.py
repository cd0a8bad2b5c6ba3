"""Who may ask: keys by name. Their hashes stand in the environment; a key itself stands nowhere but with its owner."""

import hashlib
import hmac
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field

from rag.core.errors import ConfigError

VARIABLE = "RAG_API_KEYS"
ANYONE = "anyone"
"""The owner of all that is asked where there are no keys."""

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")
HASH = re.compile(r"[0-9a-f]{64}\Z")
PREFIX = "sk-assay-"
"""Keys that begin like this are hidden wherever values are shown."""

REMEDY = (
    "make an entry with `rag key NAME`; it prints the key once, and `NAME:sha256` for this variable, entries parted by commas"
)


def new_key() -> str:
    """A key of 256 random bits."""
    return PREFIX + secrets.token_urlsafe(32)


def hashed(key: str) -> str:
    """The hash that a server knows a key by. A key is as random as its hash, so that neither salt nor slowness adds to it."""
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()


def checked_name(name: str, where: str = VARIABLE) -> str:
    """A name that an owner may have; ConfigError for others."""
    if not NAME.match(name) or name == ANYONE:
        what = f"{name!r} stands for requests without a key" if name == ANYONE else "a name has characters that none may have"
        raise ConfigError(where, what, "1 to 64 letters, digits, dots, dashes and underscores, for example alice")
    return name


@dataclass(frozen=True)
class Keys:
    """Names and hashes of keys. A name with several keys is one owner: so a key is changed without a gap."""

    entries: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    def __bool__(self) -> bool:
        return bool(self.entries)

    @property
    def names(self) -> tuple[str, ...]:
        """The owners."""
        return tuple(dict.fromkeys(name for name, _ in self.entries))

    @classmethod
    def parsed(cls, text: str, where: str = VARIABLE) -> "Keys":
        """From `name:sha256,…`; ConfigError for anything else, a key in plain text most of all, and never with its value."""
        entries = [_entry(number, part.strip(), where) for number, part in enumerate(text.split(","), 1) if part.strip()]
        _all_different(entries, where)
        if text.strip() and not entries:
            raise ConfigError(where, "is set and names no key", REMEDY)
        return cls(tuple(entries))

    def owner(self, header: str | None) -> str | None:
        """Whose key an Authorization header brings; None for nobody's. It takes as long for every key that is not there."""
        if not self.entries:
            return ANYONE
        scheme, _, key = (header or "").partition(" ")
        presented = hashed(key.strip()) if scheme.lower() == "bearer" else ""
        found: str | None = None
        for name, known in self.entries:
            found = name if hmac.compare_digest(presented, known) else found
        return found


def _entry(number: int, text: str, where: str) -> tuple[str, str]:
    name, _, known = text.partition(":")
    if not HASH.match(known.strip().lower()):
        raise ConfigError(where, f"entry {number} is not NAME:sha256; a key in plain text is never taken", REMEDY)
    return checked_name(name.strip(), where), known.strip().lower()


def _all_different(entries: Sequence[tuple[str, str]], where: str) -> None:
    owners: dict[str, str] = {}
    for number, (name, known) in enumerate(entries, 1):
        if owners.setdefault(known, name) != name:
            raise ConfigError(where, f"entry {number} has the key of {owners[known]!r} under another name", REMEDY)
