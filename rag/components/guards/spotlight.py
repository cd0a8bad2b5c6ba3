"""Spotlighting: marks around each context that no document can contain (Hines et al. 2024, arXiv:2403.14720)."""

import hashlib
import hmac
import itertools
from collections.abc import Sequence

from rag.core.checks import check_whole
from rag.core.text.templates import check_template, fill
from rag.core.types import Framed, Query

MARKS = ("sentinel",)
WORDS = ("opening", "closing")


class SpotlightGuard:
    """Puts every context between an opening and a closing mark that hold a sentinel of `digits` hexadecimal digits.

    The sentinel is an HMAC-SHA256 of the question, its history and all contexts under `key`, so that the same request gets the
    same sentinel and stored replies are found again. The key need not be secret: to contain the closing mark, a document would
    have to contain a hash of a text that includes itself. A sentinel that occurs in the question or in a context is replaced by
    the next one. So no context can close its own mark, even if its author knows the key.
    """

    def __init__(self, opening: str, closing: str, before: str = "", after: str = "", key: str = "", digits: int = 16) -> None:
        check_whole("guard.spotlight.digits", digits, 8, 64)
        for name, mark in {"opening": opening, "closing": closing}.items():
            check_template(f"guard.spotlight.{name}", mark, MARKS, MARKS)
        for name, words in {"before": before, "after": after}.items():
            check_template(f"guard.spotlight.{name}", words, known=WORDS)
        self.opening, self.closing, self.before, self.after = opening, closing, before, after
        self.key, self.digits = key, digits

    def frame(self, query: Query, contexts: Sequence[str]) -> Framed:
        """Every context between its marks, unchanged; an empty framing without contexts."""
        if not contexts:
            return Framed(())
        sentinel = self.sentinel(query, contexts)
        opening, closing = (fill(mark, {"sentinel": sentinel}) for mark in (self.opening, self.closing))
        before, after = (fill(words, {"opening": opening, "closing": closing}) for words in (self.before, self.after))
        return Framed(tuple(f"{opening}\n{text}\n{closing}" for text in contexts), before, after)

    def sentinel(self, query: Query, contexts: Sequence[str]) -> str:
        """The first keyed hash of a request that does not occur in it."""
        texts = [query.text, *(turn.text for turn in query.history), *contexts]
        # Each text follows its length: requests that split the same characters differently get different sentinels.
        read = b"".join(len(part).to_bytes(8, "big") + part for part in (text.encode("utf-8", "replace") for text in texts))
        for attempt in itertools.count():
            drawn = hmac.new(self.key.encode(), attempt.to_bytes(4, "big") + read, hashlib.sha256).hexdigest()[: self.digits]
            if not any(drawn in text.lower() for text in texts):
                return drawn
        raise AssertionError("unreachable")
