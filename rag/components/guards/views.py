"""Views of a text: its disguises undone, with the place of every character in the original.

Every function here takes time linear in the length of the text.
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

_DRAWN = {
    "a": "аαɑᴀ", "b": "ЬʙƄ", "c": "сϲᴄ", "d": "ԁɗđᴅ", "e": "еєɛεᴇ", "f": "ƒꜰ", "g": "ɡցɢ", "h": "һհʜ", "i": "іιɩıɪ",
    "j": "јϳᴊ", "k": "кκᴋ", "l": "ӏłʟ", "m": "мᴍ", "n": "ոηпɴ", "o": "оοօøσᴏ", "p": "рρᴘ", "q": "ԛզ", "r": "гʀ",
    "s": "ѕꜱ", "t": "тτᴛ", "u": "υսцᴜ", "v": "νѵᴠ", "w": "ԝωѡшᴡ", "x": "хχ", "y": "уγүʏ", "z": "ᴢʐ",
    "A": "АΑ", "B": "ВΒ", "C": "СϹ", "E": "ЕΕ", "H": "НΗ", "I": "ІΙӀ", "J": "Ј", "K": "КΚ", "M": "МΜ", "N": "Ν",
    "O": "ОΟ", "P": "РΡ", "S": "Ѕ", "T": "ТΤ", "X": "ХΧ", "Y": "УΥ", "Z": "Ζ",
}  # fmt: skip
LETTERS = {ord(drawn): plain for plain, alike in _DRAWN.items() for drawn in alike}
DIGITS = {ord(digit): letter for digit, letter in zip("013457@$!", "oieastasi", strict=True)}


def latin_letter(character: str) -> str:
    """The Latin letter that a character looks like, without accents; other characters stay as they are."""
    if character.isascii():
        return character
    bare = unicodedata.normalize("NFD", character)[0]
    return LETTERS.get(ord(bare), bare)


SHOWN_OF_TAGS = 0xE0000
"""The distance of tag characters from the ASCII characters that they spell."""

ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z]{2,10});")
APART = "letters apart"

WORD = re.compile(r"[\w@$!]+")
SPELLED = re2.compile(r"(?:^|[^\pL\pN])\pL(?:[ .·_*|/-]{1,3}\pL){5,}(?:[^\pL\pN]|$)")


@dataclass(frozen=True)
class View:
    """A text made from an original: character i comes from its characters [starts[i], ends[i]).

    `how` names the disguise in the original; it is empty for visible text.
    """

    text: str
    starts: NDArray[np.int32]
    ends: NDArray[np.int32]
    how: str = ""

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The place of the characters [start, end) in the original, also for a reversed text."""
        return int(self.starts[start:end].min()), int(self.ends[start:end].max())


def as_it_is(text: str) -> View:
    """The view of a text without changes."""
    places = np.arange(len(text), dtype=np.int32)
    return View(text, places, places + 1)


def rewritten(view: View, change: Callable[[str], str], how: str = "") -> View:
    """A view with each character replaced by the result of `change`, which may be empty or longer."""
    known = {character: change(character) for character in set(view.text)}
    parts = [known[character] for character in view.text]
    counts = np.fromiter(map(len, parts), dtype=np.int32, count=len(parts))
    return View("".join(parts), np.repeat(view.starts, counts), np.repeat(view.ends, counts), how or view.how)


def normal(view: View) -> View:
    """A view with compatibility forms (NFKC by character) and entities resolved, without invisible characters."""
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
    """The views of a text with tag characters, look-alikes, spelling, rot13 or direction undone; without unchanged ones."""
    if (tags := _tags(view)).text:
        yield tags
    seen = normal(view)
    alike = in_plain_letters(seen)
    if alike.text != seen.text:
        yield alike
    yield from _spelled(seen)
    yield View(codecs.encode(seen.text, "rot13"), seen.starts, seen.ends, "rot13")
    yield View(seen.text[::-1], seen.starts[::-1], seen.ends[::-1], "letters in reverse")


def in_plain_letters(view: View) -> View:
    """A text with look-alike characters replaced by Latin letters."""
    return _undigited(rewritten(normal(view), latin_letter, "look-alike letters"))


def _tags(view: View) -> View:
    """The text of the tag characters (U+E0020 to U+E007E), which people do not see and models read."""
    shown = rewritten(view, lambda letter: chr(ord(letter) - SHOWN_OF_TAGS) if 0xE0020 <= ord(letter) <= 0xE007E else "")
    return View(shown.text, shown.starts, shown.ends, "tag characters")


def _undigited(view: View) -> View:
    """A view with digits inside words replaced by the letters that they resemble."""
    text = WORD.sub(_letters, view.text)
    return View(text, view.starts, view.ends, view.how)


def _letters(match: re.Match[str]) -> str:
    word = match[0]
    return word.translate(DIGITS) if any(map(str.isalpha, word)) else word


def _spelled(view: View) -> Iterator[View]:
    """The text with spelled words ("i g n o r e") joined."""
    kept = np.ones(len(view.text), dtype=bool)
    for match in SPELLED.finditer(view.text):
        first, last = match.start() + (not view.text[match.start()].isalpha()), match.end() - 1
        kept[first:last] = [character.isalpha() for character in view.text[first:last]]
    if not kept.all():
        places = np.flatnonzero(kept)
        yield View("".join(view.text[place] for place in places), view.starts[places], view.ends[places], APART)


def pieced(text: str, start: int, end: int, how: str) -> View:
    """The view of a decoded text, which comes from the characters [start, end) as a whole."""
    return View(text, np.full(len(text), start, dtype=np.int32), np.full(len(text), end, dtype=np.int32), how)
