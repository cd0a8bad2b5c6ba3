"""Addresses that a request holds, and whether another one is among them."""

import html
import re
from collections.abc import Iterable
from typing import Any

from rag.components.guards.views import ENTITY

Held = frozenset[str]

TRAILING = ".,;:!?'\"”’»*_`|)]}>"
"""What ends a sentence, a bracket or a cell behind an address, and is no part of it."""
CITED = re.compile(r"\[\d{1,4}(?:[,;-]\d{1,4}){0,40}")
"""A citation right behind an address, without the bracket that ends it."""
QUOTED = re.compile(r"[\s\"'`|]")
"""What may end an address in a document. In a reply it ends none: there, whatever stands behind it can be part of the link."""
ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
"""A mark that Markdown takes as it is."""


def held_by(texts: Iterable[str], pattern: Any) -> Held:
    """Every address in some texts, in the form in which they are compared, as it stands there and as it reads."""
    read = (form for text in texts for form in {text, without_escapes(text)})
    found = (match.group(0) for text in read for match in pattern.finditer(text))
    return frozenset(known(address) for whole_one in found for address in (whole_one, QUOTED.split(whole_one, maxsplit=1)[0]))


def without_escapes(text: str) -> str:
    """A text without the entities and backslashes in which an address may hide."""
    return ESCAPED.sub(r"\1", ENTITY.sub(lambda entity: html.unescape(entity[0]), text))


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
    end = next((place for place, character in enumerate(bare) if character in "/?#"), len(bare))
    return bare[:end].lower().removeprefix("www.") + bare[end:].rstrip("/")


def whole(address: str) -> str:
    """An address without the punctuation of the sentence that it ends, and without the citations behind it."""
    end = _before(address, len(address))
    while (start := address.rfind("[", 0, end)) > 0 and CITED.fullmatch(address, start, end):
        end = _before(address, start)
    return address[:end]


def _before(address: str, end: int) -> int:
    """Where the punctuation begins that ends at `end`."""
    while end and address[end - 1] in TRAILING:
        end -= 1
    return end
