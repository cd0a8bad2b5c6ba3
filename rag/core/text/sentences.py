"""Blocks of lines and their sentences, as offsets, by rules instead of a model.

For prose, Markdown and plain-text handbooks in languages that end sentences with `.`, `!`, `?`, `…` or their CJK forms. In
doubt a sentence continues: a full stop before a small letter never ends one.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from rag.core.headings import FENCED

KNOWN = {
    "danish": ("bl.a dvs f.eks fx hhv inkl m.fl mht osv", "nr kap kl tlf"),
    "dutch": ("dhr mevr mw ir drs bijv d.w.z i.p.v m.b.t o.a t.a.v", "nr blz hfst tel"),
    "english": (
        "mr mrs ms dr prof st mt sgt capt lt col gen gov sen rep rev hon e.g i.e cf vs viz",
        "no nos p pp vol fig figs eq art sec ch app ca approx ext tel jan feb mar apr jun jul aug sep sept oct nov dec",
    ),
    "french": ("mm mme mlle mgr av bd boul env p.ex réf", "chap éd fasc nº tél"),
    "german": (
        "hr fr frl ing mag bzgl bzw d.h evtl ggf inkl exkl insb mio mrd sog std str u.a usf vgl z.b z.t zzgl",
        "abb abs anl bd bl hs kap lfd nr nrn rdnr rn tab teil ziff",
    ),
    "italian": ("sig sigg sig.ra dott dott.ssa ing avv p.es", "cap nr pag pagg tel"),
    "norwegian": ("bl.a dvs f.eks hhv inkl m.fl osv", "nr kap kl tlf"),
    "portuguese": ("sr sra srta dra eng exmo av p.ex", "cap nº pág tel"),
    "spanish": ("sr sra srta dña ud uds ee.uu p.ej avda", "cap nº núm pág págs tel"),
    "swedish": ("bl.a d.v.s dvs f.d fr.o.m inkl m.fl o.s.v resp s.k t.ex t.o.m", "nr sid kap kl tel"),
}
"""Language → abbreviations that more of the sentence follows, and those that a number follows; English holds for all."""
ORDINALS = ("czech", "danish", "estonian", "finnish", "german", "hungarian", "norwegian", "polish", "serbian")
"""Languages that write `3.` for third."""


class Abbreviations(NamedTuple):
    """Patterns of the word before a full stop; `ordinals` if a small number may be one."""

    never_last: re.Pattern[str]
    before_numbers: re.Pattern[str]
    ordinals: bool


@lru_cache(maxsize=64)
def abbreviations(language: str) -> Abbreviations:
    """The abbreviations of a language; of a language without a list those of English."""
    lists = zip(KNOWN["english"], KNOWN.get(language, ("", "")), strict=True)
    first, second = (re.compile("|".join(map(re.escape, " ".join(both).split())), re.IGNORECASE) for both in lists)
    return Abbreviations(first, second, language in ORDINALS)


Piece = tuple[int, int]
"""The characters [start, end) of a text."""

HEADING = re.compile(r"#{1,6}[ \t]")
ALONE = r"#{1,6}[ \t]|\||[-=*_]{3,}[ \t\r]*\n"
"""Headings, table rows and rules: the next line does not continue them."""
LINE = re.compile(r"\S[^\n\f\u2028\u2029]*+")
BLOCK = re.compile(rf"(?:(?!{ALONE})\S[^\n\f\u2028\u2029]{{39,}}+\n[ \t]*+(?=[a-zß-ÿ]))*{LINE.pattern}")
"""A line and its continuations: a line of 40 characters may have been wrapped before a small letter."""

END = re.compile(r"(?<![.!?…])[.!?…]++[\"'”’)\]»*_]*+(?=\s)|[。！？]++[」』”’）]*+")
NEXT = re.compile(r"\s*+([\"'“‘«(\[*_`]*+(\w{0,12}))")
"""The start of the next sentence, and its first word."""
LAST = re.compile(r"[\w.]*\Z")
NUMBERING = re.compile(r"\(?(?:\w|\d{1,3}(?:\.\d{1,3})*)")
"""Text before a full stop at the start of a line that is not a sentence: `1`, `2.3`, `Q`."""
INITIALS = re.compile(r"(?:[^\W\d_]\.)*(?!I\Z)[^\W\d_]|Ph\.D|al|Jr|Inc|Ltd|Co")
"""`J` of J. Smith, `U.S`, `a.m`, and parts of names; not the pronoun."""
UNIT = re.compile(r"\d\s?[a-z]\Z")
"""`4.5 m`: not an initial."""

ORDINAL = re.compile(r"\d{1,2}")
STARTERS = re.compile(
    r"(?i:the|this|that|these|those|it|he|she|we|they|you|his|her|its|our|their|there|in|on|at|by|from|if|when|while|as|for|but|"
    r"and|or|so|an|no|not|all|some|after|before|since|what|who|how|why|which|both|each|however)"
)
"""Words that begin a sentence more often than they follow an abbreviation."""


def blocks(text: str) -> Iterator[Piece]:
    """The lines of a text without white space at their edges; wrapped lines are one block.

    Headings, list items, table rows and the lines of fenced code are blocks of their own.
    """
    at = 0
    for fenced in FENCED.finditer(text):
        yield from _matches(BLOCK, text, at, fenced.start())
        yield from _matches(LINE, text, *fenced.span())
        at = fenced.end()
    yield from _matches(BLOCK, text, at, len(text))


def is_heading(text: str, start: int) -> bool:
    """True if a Markdown heading begins at `start`, the first character of a block."""
    return HEADING.match(text, start) is not None


def sentences(text: str, block: Piece, language: str = "english") -> Iterator[Piece]:
    """The sentences of a block, without white space at their edges; `language` says which abbreviations there are."""
    start, stop = block
    begun, known = start, abbreviations(language)
    for mark in END.finditer(text, start, stop):
        following = NEXT.match(text, mark.end(), stop)
        if following and _ends(text, start, mark, following[2], known):
            yield begun, mark.end()
            begun = following.start(1)
    if begun < stop:
        yield begun, stop


def trimmed(text: str, start: int, stop: int) -> Piece:
    """[start, stop) without white space at its edges; if nothing is left, the end is not behind the start."""
    piece = text[start:stop]
    return stop - len(piece.lstrip()), start + len(piece.rstrip())


def _matches(pattern: re.Pattern[str], text: str, start: int, stop: int) -> Iterator[Piece]:
    for match in pattern.finditer(text, start, stop):
        yield match.start(), match.start() + len(match[0].rstrip())


def _ends(text: str, start: int, mark: re.Match[str], following: str, known: Abbreviations) -> bool:
    """True if a sentence of the block that begins at `start` ends with `mark`; `following` is the next word."""
    dot, marks = mark.start(), mark[0]
    if marks[0] in "。！？":
        return True
    if following[:1].islower() or (dot - start <= 12 and NUMBERING.fullmatch(text, start, dot)):
        return False
    if not marks.startswith(".") or marks.startswith(".."):
        return True
    return not _abbreviated(text, max(start, dot - 12), dot, following, known)


def _abbreviated(text: str, start: int, dot: int, following: str, known: Abbreviations) -> bool:
    """True if the word before the full stop at `dot` is an abbreviation; `following` is the next word."""
    last = LAST.search(text, start, dot)
    word = last[0] if last else ""
    if known.never_last.fullmatch(word) or (following[:1].isdigit() and known.before_numbers.fullmatch(word)):
        return True
    if known.ordinals and ORDINAL.fullmatch(word):
        return True
    return bool(INITIALS.fullmatch(word)) and not UNIT.search(text, start, dot) and not STARTERS.fullmatch(following)
