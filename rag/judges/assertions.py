"""A text → the claims in it: its sentences without citation markers, and the clauses of a sentence.

Questions, headings and sentences that say that nothing can be said are no claims.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from rag.errors import ConfigError
from rag.sentences import Piece, blocks, is_heading, sentences

MARKER = re.compile(r"\s*\[\s*\d{1,4}(?:\s*[,;]\s*\d{1,4})*\s*\]")
"""`[2]`, or several numbers in one pair of brackets, with the blank before it."""
ITEM = re.compile(r"(?:[-*+•]|\d{1,3}[.)])\s+")
JOINT = re.compile(
    r",\s+|;\s+|\s+(?:and|but|while|when|which|who|where|because|after|before|although|with|as)\s+", re.IGNORECASE
)
"""Where one clause ends and another one may begin."""
ASSERTS = re.compile(r"\w")
REFUSALS = (
    r"\b(?:i|we) (?:do not|don['’]t|cannot|can['’]t|could not|couldn['’]t) (?:know|answer|find|say|tell)\b",
    r"\b(?:unable|not able) to (?:answer|find|say|tell)\b",
    r"\b(?:cannot|can['’]t|could not) be (?:answered|determined|found)\b",
    r"\b(?:contexts?|passages?|sources?|documents?|texts?) (?:do|does|did) not "
    r"(?:say|state|mention|answer|contain|provide|tell)\b",
    r"\bnot (?:mentioned|stated|found|given|provided|answered|specified) in the (?:given |provided )?"
    r"(?:contexts?|passages?|sources?|documents?|texts?)\b",
    r"\b(?:no|not enough|insufficient) (?:relevant )?information\b",
)
"""How English sentences say that nothing can be said."""


def refusals(further: Sequence[str]) -> tuple[re.Pattern[str], ...]:
    """REFUSALS and further regular expressions, case ignored; ConfigError for what is none."""
    try:
        return tuple(re.compile(phrase, re.IGNORECASE) for phrase in (*REFUSALS, *further))
    except re.error as error:
        raise ConfigError("judge.abstentions", f"holds {error.pattern!r}: {error}", "regular expressions") from error


def claims(text: str, abstentions: Sequence[re.Pattern[str]]) -> tuple[list[Piece], bool]:
    """The claims of a text as [start, end), and whether it abstains: it says nothing, or nothing but that it cannot say."""
    found, refused = list[Piece](), not ASSERTS.search(text)
    for start, end in _sentences(text):
        if any(pattern.search(text, start, end) for pattern in abstentions):
            refused = True
        elif text[start:end].rstrip("\"'”’)*_ ")[-1:] != "?" and ASSERTS.search(without_markers(text[start:end])):
            found.append((start, end))
    return found, refused and not found


def without_markers(text: str) -> str:
    """A claim without the citation markers in it."""
    return MARKER.sub("", text)


def clauses(text: str) -> list[Piece]:
    """A sentence, cut at commas and conjunctions: pieces [start, end) that together are all of it."""
    cuts = [0, *(joint.end() for joint in JOINT.finditer(text)), len(text)]
    return [(start, end) for start, end in pairwise(cuts) if end > start]


def _sentences(text: str) -> Iterator[Piece]:
    for start, stop in blocks(text):
        if not is_heading(text, start):
            item = ITEM.match(text, start, stop)
            yield from sentences(text, (item.end() if item else start, stop))
