"""The words of an English text for the comparison of facts: their stems, and which are numbers, names and negations.

Numbers are compared by value: `1,500`, `1500` and `1500.0` are equal, and so are `two` and `2`, `third` and `3rd`. Months are
compared by number: `Nov.`, `November` and the 11 of `2004-11-02` are equal.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import Stemmer

from rag.core.text import stems

TOKEN = re.compile(
    r"(?P<date>\b\d{4}-\d\d-\d\d\b)|(?P<number>\d+(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)(?:st\b|nd\b|rd\b|th\b|s\b)?"
    r"(?P<scale>\s?(?:thousand|million|billion|trillion|bn)\b)?"
    r"|(?P<word>[^\W\d_]+(?:['’][^\W\d_]+)*)"
)
STOP = stems.STOP | {"yes"}
CARDINALS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty"
)
# Ordinals count as their numbers.
ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth"
TENS = "thirty forty fifty sixty seventy eighty ninety hundred"
VALUES = (
    {word: value for value, word in enumerate(CARDINALS.split())}
    | {word: value for value, word in enumerate(ORDINALS.split(), 1)}
    | {word: 10 * value for value, word in enumerate(TENS.split(), 3)}
    | {"once": 1, "twice": 2, "both": 2, "single": 1, "double": 2, "triple": 3}
)
SCALES = {"thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12, "bn": 1e9}
MONTHS = "january february march april may june july august september october november december"
MONTH = {name: number for number, month in enumerate(MONTHS.split(), 1) for name in (month, month[:3])} | {"sept": 9}
AMBIGUOUS = ("may", "mar", "march", "jan", "jun", "dec")
"""Words that are months only with a capital."""
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
DENYING = (
    "not no never none neither nor without cannot unable unlike fail failed fails refuse refused refuses declined deny denied "
    "denies"
)
NEGATIONS = frozenset(DENYING.split())


@dataclass(frozen=True, slots=True)
class Word:
    """The characters [start, end) of a text with the stem that is compared.

    `kind` is `word`, `name`, `number`, `month` or `negation`; `meaning` is False for stop words.
    """

    stem: str
    start: int
    end: int
    kind: str
    meaning: bool


def words(text: str) -> list[Word]:
    """All words, numbers and months of a text in reading order."""
    return list(_words(text))


def _words(text: str) -> Iterator[Word]:
    for match in TOKEN.finditer(text):
        start, end = match.span()
        if match["date"]:
            yield from _date(match["date"], start)
        elif match["number"]:
            scale = SCALES[match["scale"].strip()] if match["scale"] else 1.0
            yield Word(_value(float(match["number"].replace(",", "")) * scale), start, end, "number", True)
        else:
            yield _word(match["word"], start, end)


def _date(date: str, start: int) -> Iterator[Word]:
    year, month, day = date.split("-")
    yield Word(_value(float(year)), start, start + 4, "number", True)
    yield Word(f"month {int(month)}", start + 5, start + 7, "month", True)
    yield Word(_value(float(day)), start + 8, start + 10, "number", True)


def _word(word: str, start: int, end: int) -> Word:
    base = word.lower().replace("’", "'").removesuffix("'s")
    if base in MONTH and (word[0].isupper() or base not in AMBIGUOUS):
        return Word(f"month {MONTH[base]}", start, end, "month", True)
    if base in VALUES:
        return Word(_value(float(VALUES[base])), start, end, "number", True)
    stop = base in STOP
    if base in NEGATIONS or base.endswith("n't"):
        return Word(_stem(base), start, end, "negation", not stop and "'" not in base)
    named = word[0].isupper() and not stop and base not in OPENERS
    return Word(_stem(base), start, end, "name" if named else "word", not stop)


def _value(number: float) -> str:
    return f"#{number:.12g}"


@lru_cache(maxsize=1 << 16)
def _stem(word: str) -> str:
    # Threads cannot share a stemmer; making one is cheap because of the cache.
    return str(Stemmer.Stemmer("english").stemWord(word))
