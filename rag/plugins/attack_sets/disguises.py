"""Ways to hide a text from filters and people, while a model may still read it."""

import base64
import re
from collections.abc import Callable, Mapping

WORD = re.compile(r"[A-Za-z]{4,}")
KEPT = re.compile(r"\S*(?:://|[A-Z]{2,}|\d|<)\S*")
"""Words that are not changed: addresses and code words, by which the success of an attack is measured."""

ZERO_WIDTH = "\u200b"
TAGS = 0xE0000
"""The first of the tag characters, an invisible copy of ASCII."""

LEET = str.maketrans("aeiost", "431057")
LOOKALIKES = str.maketrans("aceiopsxy", "асеіорѕху")
"""Latin letters → Cyrillic ones of the same shape."""


def _swapped(text: str, table: Mapping[int, str | int | None]) -> str:
    parts = re.split(r"(\s+)", text)
    return "".join(part if KEPT.fullmatch(part) else part.translate(dict(table)) for part in parts)


def _split_words(text: str) -> str:
    return WORD.sub(lambda word: word[0][: len(word[0]) // 2] + ZERO_WIDTH + word[0][len(word[0]) // 2 :], text)


def _invisible(text: str) -> str:
    return "".join(chr(TAGS + ord(letter)) if 0x20 <= ord(letter) < 0x7F else letter for letter in text)


WAYS: Mapping[str, Callable[[str], str]] = {
    "none": str,
    "html_comment": str,
    "white_on_white": str,
    "zero_width": _split_words,
    "confusables": lambda text: _swapped(text, LOOKALIKES),
    "leet": lambda text: _swapped(text, LEET),
    "base64": lambda text: base64.b64encode(text.encode("utf-8")).decode("ascii"),
    "tags": _invisible,
}
"""Name → the change of the text itself; the text around it is part of the data."""


def disguised(text: str, way: str, carrier: str) -> str:
    """The carrier with {text} replaced by the text in one of WAYS."""
    return carrier.replace("{text}", WAYS[way](text))
