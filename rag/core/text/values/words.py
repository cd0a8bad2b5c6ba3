"""The words of a text with what each of them is: a number, a month, a name, a negation, or another word.

Numbers are compared by value: `1,500`, `1500` and `1500.0` are equal, and so are `two` and `2`, `third` and `3rd`. Months are
compared by number: `Nov.`, `November` and the 11 of `2004-11-02` are equal.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from rag.core.text.languages import stemmer, stop_words
from rag.core.text.stems import STOP
from rag.core.text.values.numbers import ENUMERATED, Number, blank, blanked, numbers

SINGLE = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
"""Kana and Han, of which each character is a word."""
WORD = re.compile(rf"[{SINGLE}]|[^\W_{SINGLE}]+(?:['’][^\W_]+)*")
BEGINS = re.compile(r"(?:\A|[.?!:;\n>|\"“(\[])\W{0,9}\Z")
"""The text before a word that has a capital because it begins a sentence."""
OPENING = (
    "additionally according again although always another anyone anybody around as because besides currently despite during "
    "each either even every everybody everyone everything few finally first following former formerly further furthermore "
    "generally here hence however initially instead last lastly later latest like likewise meanwhile moreover nevertheless "
    "next nobody nothing now often once originally otherwise overall people perhaps please previously rather recently several "
    "similarly since sometimes soon still subsequently therefore though thus today together typically until upon usually "
    "various whereas whether while within yes yesterday yet"
)
OPENERS = frozenset(OPENING.split())
"""Words with a capital at the beginning of a sentence that are no names."""
DENIALS = "not never none neither nor cannot without unlike"
NO = r"no(?=[\s-]\w)(?!\s(?:later|more|less|fewer|earlier)\b)"
"""`no longer` denies; `no later than` does not, and neither does the reply `No, ten`."""
NEGATION = re.compile(rf"\b(?:{DENIALS.replace(' ', '|')}|{NO}|rather\sthan|instead\sof|except|\w+n['’]t)\b", re.IGNORECASE)
"""What makes the value behind it a wrong one."""
REFUSALS = "unable fail failed fails refuse refused refuses declined deny denied denies"
DENYING = frozenset(f"{DENIALS} {REFUSALS}".split())
"""Words that make a clause say the opposite: `refused five loans` denies the loans, and not the five."""


class Word(NamedTuple):
    """The characters [start, end) of a text with the stem that is compared.

    `kind` is `word`, `name`, `number`, `month` or `negation`; `meaning` is False for stop words. `doubt` marks a number that
    may be none, and a name that opens a sentence, so that its capital says little. `also` are other readings of a number, and
    the 2 of `both`.
    """

    stem: str
    start: int
    end: int
    kind: str
    meaning: bool = True
    doubt: bool = False
    also: frozenset[str] = frozenset()


def words(text: str, language: str = "english") -> list[Word]:
    """All words, numbers and months of a text in reading order; of `K-12` the letter and the number.

    Months, numbers in words and negations are those of English; a text of another language has no negations.
    """
    values = numbers(text)
    counted = [word for value in values for word in _counted(text, value)]
    found = others(text, blanked(ENUMERATED.sub(blank, text), values), language)
    return sorted((*counted, *found), key=lambda word: word.start) if counted else list(found)


def _counted(text: str, number: Number) -> Iterator[Word]:
    """The values of a number: one, or day, month and year."""
    main, *more = number.readings
    places = [(number.start, number.end)]
    if len(main) > 1:
        places = [match.span() for match in re.compile(r"\d+").finditer(text, number.start, number.end)]
    also = frozenset(f"#{value.rstrip('%')}" for reading in more if len(reading) == 1 for value in reading)
    for value, (start, end) in zip(main, places, strict=False):
        if value.startswith("month"):
            yield Word(value, start, end, "month")
        else:
            yield Word(f"#{value.rstrip('%')}", start, end, "number", True, number.doubt, also)


def others(text: str, rest: str, language: str) -> Iterator[Word]:
    """The words of a text that are no numbers; those are blanks in `rest`."""
    for match in WORD.finditer(rest):
        start, end = match.span()
        kind, stem, means, also = _known(match[0], language)
        if kind == "no":
            kind = "negation" if NEGATION.match(rest, start) else "word"
        opens = kind == "name" and BEGINS.search(text, max(0, start - 10), start) is not None
        yield Word(stem, start, end, kind, means, opens, also)


@lru_cache(maxsize=1 << 16)
def _known(word: str, language: str) -> tuple[str, str, bool, frozenset[str]]:
    """The kind of a word, `no` for one that denies some words only; its stem; whether it means anything; its value."""
    base = word.lower().replace("’", "'").removesuffix("'s")
    english, stop = language == "english", STOP if language == "english" else stop_words(language)
    found, means = stemmer(language), base not in stop and base != "yes"  # Threads cannot share a stemmer.
    stem, also = str(found.stemWord(base)) if found else base, frozenset({"#2"} if english and base == "both" else ())
    if english and (base in DENYING or base == "no" or base.endswith("n't")):
        return "no" if base == "no" else "negation", stem, means and "'" not in base, frozenset()
    return "name" if means and word[0].isupper() and base not in OPENERS else "word", stem, means, also
