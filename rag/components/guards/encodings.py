"""Texts that are encoded in another text: base64, hexadecimal or percent-encoding."""

import base64
import binascii
import re
import urllib.parse
from collections.abc import Callable, Iterator
from typing import Any

import re2

from rag.components.guards.views import View, pieced

DEPTH = 2
"""The number of nested encodings that are decoded."""

LEAST = 12
"""The fewest characters of a decoded text: almost any word decodes to a few."""

READABLE = 0.9
"""The least share of letters, digits, punctuation and spaces in bytes that count as text."""


def _from_base64(run: str) -> bytes:
    joined = "".join(run.split()).translate(str.maketrans("-_", "+/")).rstrip("=")
    return base64.b64decode(joined + "=" * (-len(joined) % 4), validate=True)


def _from_hex(run: str) -> bytes:
    return bytes.fromhex(re.sub(r"0x|\\x|[^0-9A-Fa-f]", "", run))


ENCODINGS: tuple[tuple[str, Any, Callable[[str], bytes]], ...] = (
    ("base64", re2.compile(r"[A-Za-z0-9+/_-]{16,}(?:\r?\n[A-Za-z0-9+/_-]{4,})*={0,2}"), _from_base64),
    ("hexadecimal", re2.compile(r"(?:(?:0x|\\x)?[0-9A-Fa-f]{2}[ :,]{0,2}){11,}(?:0x|\\x)?[0-9A-Fa-f]{2}"), _from_hex),
    ("percent signs", re2.compile(r"(?:%[0-9A-Fa-f]{2}[\w.~+-]{0,40}){3,}"), urllib.parse.unquote_to_bytes),
)


def decoded(view: View, depth: int = DEPTH) -> Iterator[View]:
    """The decoded runs of a text that are text themselves."""
    for how, pattern, decode in ENCODINGS:
        for match in pattern.finditer(view.text):
            # The next line may begin with a word that looks like more of the encoding.
            text = _text(match[0], decode) or _text(match[0].partition("\n")[0], decode)
            if text:
                inner = pieced(text, *view.span(*match.span()), how)
                yield inner
                if depth > 1:
                    yield from decoded(inner, depth - 1)


def _text(run: str, decode: Callable[[str], bytes]) -> str:
    try:
        text = decode(run).decode("utf-8")
    except (binascii.Error, ValueError):
        return ""
    good = sum(character.isascii() and (character.isalnum() or character in " \n.,:;!?'\"()-/") for character in text)
    return text if len(text) >= LEAST and good >= READABLE * len(text) else ""
