"""API keys by owner. The environment holds their hashes; only the owner has the key itself."""

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass, field

from rag.core.errors import ConfigError

VARIABLE = "RAG_API_KEYS"
ANYONE = "anyone"
"""The owner of all requests to a server without keys."""

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")
HASH = re.compile(r"[0-9a-f]{64}\Z")
PREFIX = "sk-assay-"
"""Values with this prefix are hidden in logs and errors."""

REMEDY = (
    "make an entry with `rag bundle key NAME`; it prints the key once, and `NAME:sha256` for this variable; "
    "separate entries by commas"
)


def new_key() -> str:
    """A key of 256 random bits."""
    return PREFIX + secrets.token_urlsafe(32)


def hashed(key: str) -> str:
    """The hash of a key. A key has 256 random bits, so a salt or a slow hash would add nothing."""
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()


def checked_name(name: str, where: str = VARIABLE) -> str:
    """The name of an owner; ConfigError if it is not valid."""
    if not NAME.match(name) or name == ANYONE:
        what = f"{name!r} stands for requests without a key" if name == ANYONE else "a name has characters that are not allowed"
        raise ConfigError(where, what, "1 to 64 letters, digits, dots, dashes and underscores, for example alice")
    return name


@dataclass(frozen=True)
class Keys:
    """Names and hashes of keys. One owner may have several keys, so that a key can be replaced without a gap."""

    entries: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    def __bool__(self) -> bool:
        return bool(self.entries)

    @property
    def names(self) -> tuple[str, ...]:
        """The owners, without repetition."""
        return tuple(dict.fromkeys(name for name, _ in self.entries))

    @classmethod
    def parsed(cls, text: str, where: str = VARIABLE) -> "Keys":
        """Parse `name:sha256,…`; ConfigError for anything else, such as a key in plain text, whose value is never repeated."""
        entries = [_entry(number, part.strip(), where) for number, part in enumerate(text.split(","), 1) if part.strip()]
        owners: dict[str, str] = {}
        for number, (name, known) in enumerate(entries, 1):
            if owners.setdefault(known, name) != name:
                raise ConfigError(where, f"entry {number} has the key of {owners[known]!r} under another name", REMEDY)
        if text.strip() and not entries:
            raise ConfigError(where, "is set and names no key", REMEDY)
        return cls(tuple(entries))

    def owner(self, header: str | None) -> str | None:
        """The owner of the key in an Authorization header, or None. Comparison takes constant time."""
        if not self.entries:
            return ANYONE
        scheme, _, key = (header or "").partition(" ")
        presented = hashed(key.strip()) if scheme.lower() == "bearer" else ""
        owner: str | None = None
        for name, known in self.entries:
            owner = name if hmac.compare_digest(presented, known) else owner
        return owner


def _entry(number: int, text: str, where: str) -> tuple[str, str]:
    name, _, known = text.partition(":")
    if not HASH.match(known.strip().lower()):
        raise ConfigError(where, f"entry {number} is not NAME:sha256; a key in plain text is never accepted", REMEDY)
    return checked_name(name.strip(), where), known.strip().lower()
