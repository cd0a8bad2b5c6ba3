"""Addresses that a request holds, and whether another one is among them."""

from collections.abc import Iterable
from typing import Any

Held = frozenset[str]

TRAILING = ".,;:!?'\"”’»*_`)]}>"
"""What ends a sentence or a bracket behind an address, and is no part of it."""


def held_by(texts: Iterable[str], pattern: Any) -> Held:
    """Every address in some texts, in the form in which they are compared."""
    return frozenset(known(match.group(0)) for text in texts for match in pattern.finditer(text))


def is_held(address: str, held: Held) -> bool:
    """Whether an address is one of those that are held: the whole of it, so that nothing can be carried in its tail."""
    return known(address) in held


def known(address: str) -> str:
    """The form in which addresses are compared: without a scheme of the web, `www.`, and a slash at the end.

    The host in small letters; everything behind it as it is, for case can carry data too.
    """
    bare = whole(address.strip().strip("<>"))
    for start in ("https://", "http://", "//"):
        if bare.lower().startswith(start):
            bare = bare[len(start) :]
            break
    host, slash, path = bare.partition("/")
    return host.lower().removeprefix("www.") + (slash + path).rstrip("/")


def whole(address: str) -> str:
    """An address without the punctuation of the sentence that it ends."""
    return address.rstrip(TRAILING)
