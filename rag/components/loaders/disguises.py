"""Ways to write a text so that a filter, or a person, does not see what it says, while a model may."""

import base64
import re
from collections.abc import Callable, Mapping

WORD = re.compile(r"[A-Za-z]{4,}")
KEPT = re.compile(r"\S*(?:://|[A-Z]{2,}|\d|<)\S*")
"""Words that stay as they are: addresses and code words, without which nobody could tell whether the text was obeyed."""

ZERO_WIDTH = "\u200b"
TAGS = 0xE0000
"""Where the block of tag characters begins, which mirrors ASCII and is not shown."""

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


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode("utf-8")).decode("ascii")


def _same(text: str) -> str:
    return text


WAYS: Mapping[str, Callable[[str], str]] = {
    "none": _same,
    "html_comment": _same,
    "white_on_white": _same,
    "zero_width": _split_words,
    "confusables": lambda text: _swapped(text, LOOKALIKES),
    "leet": lambda text: _swapped(text, LEET),
    "base64": _encoded,
    "tags": _invisible,
}
"""What is done to the text itself; what is written around it stands with the data."""


def disguised(text: str, way: str, carrier: str) -> str:
    """The text in one of WAYS, put into the place {text} of its carrier."""
    return carrier.replace("{text}", WAYS[way](text))
