"""Marks that say where a quoted text begins and ends, and that no document can hold (Hines et al. 2024, arXiv:2403.14720)."""

import hashlib
import hmac
import itertools
from collections.abc import Sequence

from rag.components.guards.prompt_texts import filled, placeholders
from rag.core.errors import ConfigError
from rag.core.records import Framed, Query

MARKS = ("sentinel",)
WORDS = ("opening", "closing")


class SpotlightGuard:
    """Puts every context between an opening and a closing mark that hold a sentinel of `digits` hexadecimal digits.

    The sentinel is an HMAC-SHA256 of the question, its history and all contexts under `key`. The same request gets the same
    sentinel, so that stored replies are found again. The key is no secret, and need not be: a document that wants to hold the
    closing mark would have to hold a keyed hash of a text of which it is a part. And should that ever come about, by chance or
    by search, it is noticed: a sentinel that occurs in the question or in any context is not used, the next one is. So no
    context can close its own mark, whatever its author knows.
    """

    def __init__(self, opening: str, closing: str, before: str = "", after: str = "", key: str = "", digits: int = 16) -> None:
        if not 8 <= digits <= 64:
            raise ConfigError("guard.spotlight.digits", f"is {digits}", "from 8 to 64 hexadecimal digits")
        for name, mark in {"opening": opening, "closing": closing}.items():
            placeholders(mark, f"guard.spotlight.{name}", MARKS, needed=True)
        for name, words in {"before": before, "after": after}.items():
            placeholders(words, f"guard.spotlight.{name}", WORDS)
        self.opening, self.closing, self.before, self.after = opening, closing, before, after
        self.key, self.digits = key, digits

    def frame(self, query: Query, contexts: Sequence[str]) -> Framed:
        """Every context between its marks, unchanged; nothing at all where there are no contexts."""
        if not contexts:
            return Framed(())
        sentinel = self.sentinel(query, contexts)
        opening, closing = (filled(mark, sentinel=sentinel) for mark in (self.opening, self.closing))
        before, after = (filled(words, opening=opening, closing=closing) for words in (self.before, self.after))
        return Framed(tuple(f"{opening}\n{text}\n{closing}" for text in contexts), before, after)

    def sentinel(self, query: Query, contexts: Sequence[str]) -> str:
        """The sentinel of a request: the first of its keyed hashes that occurs nowhere in it."""
        texts = [query.text, *(turn.text for turn in query.history), *contexts]
        # Each text goes in behind its length, or two requests that split the same characters otherwise would share one.
        read = b"".join(len(part).to_bytes(8, "big") + part for part in (text.encode("utf-8", "replace") for text in texts))
        for attempt in itertools.count():
            drawn = hmac.new(self.key.encode(), attempt.to_bytes(4, "big") + read, hashlib.sha256).hexdigest()[: self.digits]
            if not any(drawn in text.lower() for text in texts):
                return drawn
        raise AssertionError("unreachable")
