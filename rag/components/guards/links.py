"""The addresses in a request, and whether an address of a reply is among them."""

import html
import re
from collections.abc import Iterable
from typing import Any

from rag.components.guards.views import ENTITY

Held = frozenset[str]

TRAILING = ".,;:!?'\"”’»*_`|)]}>"
"""Characters after an address: the end of a sentence, of a bracket or of a cell."""
CITED = re.compile(r"\[\d{1,4}(?:[,;-]\d{1,4}){0,40}")
"""A citation directly after an address, without its closing bracket."""
QUOTED = re.compile(r"[\s\"'`|]")
"""The end of a quoted address in a document. In a reply it ends none, because the rest can be part of the link."""
ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
"""A character that Markdown escapes."""


def held_by(texts: Iterable[str], pattern: Any) -> Held:
    """The normal form of every address in some texts, with and without entities and backslashes."""
    forms = (form for text in texts for form in {text, without_escapes(text)})
    matches = (match.group(0) for text in forms for match in pattern.finditer(text))
    return frozenset(normal_form(part) for match in matches for part in (match, QUOTED.split(match, maxsplit=1)[0]))


def without_escapes(text: str) -> str:
    """A text without entities and backslashes, which may hide an address."""
    return ESCAPED.sub(r"\1", ENTITY.sub(lambda entity: html.unescape(entity[0]), text))


def is_held(address: str, held: Held) -> bool:
    """True if the whole address is one of `held`: a longer one could carry data."""
    return normal_form(address) in held


def normal_form(address: str) -> str:
    """An address without http(s)://, `www.` and a final slash, for comparison.

    The host is in lower case; the rest keeps its case, which could carry data.
    """
    bare = whole(address.strip().strip("<>"))
    for start in ("https://", "http://", "//"):
        if bare.lower().startswith(start):
            bare = bare[len(start) :]
            break
    end = next((place for place, character in enumerate(bare) if character in "/?#"), len(bare))
    return bare[:end].lower().removeprefix("www.") + bare[end:].rstrip("/")


def whole(address: str) -> str:
    """An address without the punctuation and the citations after it."""
    end = _before(address, len(address))
    while (start := address.rfind("[", 0, end)) > 0 and CITED.fullmatch(address, start, end):
        end = _before(address, start)
    return address[:end]


def _before(address: str, end: int) -> int:
    """The offset at which the punctuation before `end` begins."""
    while end and address[end - 1] in TRAILING:
        end -= 1
    return end
