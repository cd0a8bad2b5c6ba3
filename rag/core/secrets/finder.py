"""Secrets of a text: by form, by name, and by form across the ends of lines."""

import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import accumulate, chain

from rag.core.secrets.named import named_values
from rag.core.secrets.places import Find, stable, without_rules
from rag.core.secrets.shapes import GENERIC, shape_rules

PART, LONGEST = r"[\w+/=.~-]", 60
"""A character of a value, and the characters of its parts that are looked at."""
WORD = r"(?:[A-Za-z]?[a-z]{0,13}[.,]?|[\d.,-]+)"
"""A part that is rather a word or a number than a part of a value."""

SECOND = re.compile(rf"\n[ \t]*(?!{WORD}(?!{PART}))({PART}{{2,{LONGEST}}})")
FIRST = re.compile(rf"(?!{WORD}\Z).*{PART}")
"""What may be the second part of a value that an end of line cuts, as PDF readers give it, and what may be the first."""

MIXED = r"\d.*[A-Za-z]|[A-Za-z].*\d"
MARKED, PREFIXED = re.compile(MIXED), re.compile(r"[A-Za-z]{2,}[-_]|" + MIXED)
"""Letters with digits; the same, or the beginning of many keys."""


def find_secrets(text: str, but: Collection[str] = ()) -> list[Find]:
    """The secrets of a text in reading order, without overlaps; rules named in `but` are not applied."""
    return stable(text, lambda current: secret_finds(current, but))


def in_characters(text: str, find: Callable[[bytes], Iterable[Find]]) -> list[Find]:
    """The finds of a function of UTF-8, at their places in characters."""
    data = text.encode("utf-8", "replace")
    found = sorted(find(data))
    if len(data) == len(text) or not found:
        return found
    edges = sorted({edge for each in found for edge in each[:2]})
    pieces = zip([0, *edges], edges, strict=False)
    places = dict(zip(edges, accumulate(len(data[start:end].decode("utf-8", "ignore")) for start, end in pieces), strict=True))
    return [each._replace(start=places[each.start], end=places[each.end]) for each in found]


def secret_finds(text: str, but: Collection[str] = ()) -> Iterator[Find]:
    """The finds of one pass over a text, in no order; some may overlap."""
    text = without_rules(text)
    finds = chain(in_characters(text, _by_form_and_name), _across(text, list(_breaks(text))))
    return (find for find in finds if find.rule not in but)


def _breaks(text: str) -> Iterator[tuple[int, int]]:
    """Ends of lines, with the blanks around them, between parts of a value: neither is a word, one has a prefix or digits."""
    for second in SECOND.finditer(text):
        begin = max(0, second.start() - LONGEST)
        before = text[begin : second.start()].rstrip(" \t\r")
        first = (before.split() or [""])[-1]
        is_value = PREFIXED.search(first) or MARKED.search(second[1])
        if is_value and FIRST.fullmatch(first) and before.endswith(first):
            yield begin + len(before), second.start(1)


def _by_form_and_name(data: bytes) -> Iterator[Find]:
    yield from _by_form(data)
    yield from named_values().finds(data)


def _by_form(data: bytes) -> Iterator[Find]:
    for rule in shape_rules().candidates(data):
        yield from (Find(start, end, rule.name, rule.rank) for start, end in rule.places(data))


def _across(text: str, breaks: list[tuple[int, int]]) -> Iterator[Find]:
    """Values by form that only the text without some of its line ends shows, at their places in the text."""
    if not breaks:
        return
    edges = [0, *(edge for span in breaks for edge in span), len(text)]
    joined = "".join(text[start:end] for start, end in zip(edges[::2], edges[1::2], strict=True))
    removed = list(accumulate(end - start for start, end in breaks))
    places = [start - shift for (start, _), shift in zip(breaks, [0, *removed], strict=False)]
    for find in in_characters(joined, _by_form):
        first, last = bisect_right(places, find.start), bisect_right(places, find.end - 1)
        is_sure = not find.rank or any(map(str.isdigit, joined[find.start : find.end]))
        if first < last and find.rule != GENERIC and is_sure:
            before, after = (removed[count - 1] if count else 0 for count in (first, last))
            yield find._replace(start=find.start + before, end=find.end + after)
