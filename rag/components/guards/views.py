"""A text as a model may read it, whatever it is written in; each view knows where its characters come from.

Every function here takes time that grows with the length of the text.
"""

import codecs
import html
import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import re2
from numpy.typing import NDArray

from rag.components.guards.lookalikes import DIGITS, latin_letter

SHOWN_OF_TAGS = 0xE0000
"""Tag characters stand so far above the ASCII characters that they spell."""

ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z]{2,10});")
APART = "letters apart"

WORD = re.compile(r"[\w@$!]+")
SPELLED = re2.compile(r"(?:^|[^\pL\pN])\pL(?:[ .·_*|/-]{1,3}\pL){5,}(?:[^\pL\pN]|$)")


@dataclass(frozen=True)
class View:
    """A text made of another one: character i comes from the characters [starts[i], ends[i]) of it.

    `how` says how it is written there, empty for what anybody sees.
    """

    text: str
    starts: NDArray[np.int32]
    ends: NDArray[np.int32]
    how: str = ""

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Where the characters [start, end) come from; for a text read backwards the ends change places."""
        return int(self.starts[start:end].min()), int(self.ends[start:end].max())


def as_it_is(text: str) -> View:
    """A text and its own places."""
    places = np.arange(len(text), dtype=np.int32)
    return View(text, places, places + 1)


def rewritten(view: View, change: Callable[[str], str], how: str = "") -> View:
    """A view with each character replaced by what `change` makes of it, which may be nothing or several."""
    known = {character: change(character) for character in set(view.text)}
    parts = [known[character] for character in view.text]
    counts = np.fromiter(map(len, parts), dtype=np.int32, count=len(parts))
    return View("".join(parts), np.repeat(view.starts, counts), np.repeat(view.ends, counts), how or view.how)


def normal(view: View) -> View:
    """Compatibility forms taken apart (NFKC, character by character), entities read, what takes no room left out."""
    if "&" in view.text:
        view = _entities(view)
    return view if view.text.isascii() else rewritten(view, _compatible)


def _compatible(character: str) -> str:
    return "" if _takes_no_room(character) else unicodedata.normalize("NFKC", character)


def _takes_no_room(character: str) -> bool:
    code = ord(character)
    return unicodedata.category(character) == "Cf" or 0xFE00 <= code <= 0xFE0F or 0xE0000 <= code <= 0xE01EF or code == 0x34F


def _entities(view: View) -> View:
    parts: list[str] = []
    starts: list[NDArray[np.int32]] = []
    ends: list[NDArray[np.int32]] = []
    place = 0
    for match in ENTITY.finditer(view.text):
        start, end = match.span()
        shown = html.unescape(match[0])
        parts += [view.text[place:start], shown]
        first, last = view.span(start, end)
        starts += [view.starts[place:start], np.full(len(shown), first, dtype=np.int32)]
        ends += [view.ends[place:start], np.full(len(shown), last, dtype=np.int32)]
        place = end
    rest = [*starts, view.starts[place:]], [*ends, view.ends[place:]]
    return View("".join([*parts, view.text[place:]]), np.concatenate(rest[0]), np.concatenate(rest[1]), view.how)


def disguises(view: View) -> Iterator[View]:
    """The same text as it reads when look-alikes, spelling, rot13 or direction are undone; only those that change anything."""
    yield from (made for made in (_tags(view),) if made.text)
    seen = normal(view)
    alike = in_plain_letters(seen)
    if alike.text != seen.text:
        yield alike
    yield from _spelled(seen)
    yield View(codecs.encode(seen.text, "rot13"), seen.starts, seen.ends, "rot13")
    yield View(seen.text[::-1], seen.starts[::-1], seen.ends[::-1], "letters in reverse")


def in_plain_letters(view: View) -> View:
    """A text in the letters that it looks like."""
    return _undigited(rewritten(normal(view), latin_letter, "look-alike letters"))


def _tags(view: View) -> View:
    """What the tag characters of a text spell: nobody sees them, models read them (U+E0020 to U+E007E)."""
    shown = rewritten(view, lambda letter: chr(ord(letter) - SHOWN_OF_TAGS) if 0xE0020 <= ord(letter) <= 0xE007E else "")
    return View(shown.text, shown.starts, shown.ends, "tag characters")


def _undigited(view: View) -> View:
    """Digits in words that have letters too, as the letters that they stand for."""
    text = WORD.sub(_letters, view.text)
    return View(text, view.starts, view.ends, view.how)


def _letters(match: re.Match[str]) -> str:
    word = match[0]
    return word.translate(DIGITS) if any(map(str.isalpha, word)) else word


def _spelled(view: View) -> Iterator[View]:
    """The text with words whose letters stand apart ("i g n o r e") put together."""
    kept = np.ones(len(view.text), dtype=bool)
    for match in SPELLED.finditer(view.text):
        first, last = match.start() + (not view.text[match.start()].isalpha()), match.end() - 1
        kept[first:last] = [character.isalpha() for character in view.text[first:last]]
    if not kept.all():
        places = np.flatnonzero(kept)
        yield View("".join(view.text[place] for place in places), view.starts[places], view.ends[places], APART)


def pieced(text: str, start: int, end: int, how: str) -> View:
    """A decoded text, all of which comes from the characters [start, end)."""
    return View(text, np.full(len(text), start, dtype=np.int32), np.full(len(text), end, dtype=np.int32), how)
