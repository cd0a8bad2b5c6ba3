"""Secrets of a text: by form, by name, and by form across the ends of lines."""

import html
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import accumulate
from typing import Any

import re2

from rag.core.secrets.named import named_values
from rag.core.secrets.places import Find, stable, without_rules
from rag.core.secrets.shapes import GENERIC, rule_tables, shape_rules

LONGEST = 60
"""The characters of the parts of a cut value that are looked at."""
VENDOR = re.compile(r"[a-z0-9._-]{2,}[-_.]")
"""A keyword of a rule that is the beginning of a key."""


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
    cuts = _cuts()
    text = cuts["entity"].sub(lambda found: html.unescape(found[0]).ljust(len(found[0]), "\u200b"), without_rules(text))
    shown = _Cut(text, [found.span() for found in cuts["unseen"].finditer(text)])
    joined = _Cut(shown.text, sorted({*_breaks(shown.text), *(found.span() for found in cuts["marks"].finditer(shown.text))}))
    finds = [*in_characters(shown.text, _by_form_and_name), *(_across(joined) if joined.places else ())]
    return (shown.back(find) for find in finds if find.rule not in but)


class _Cut:
    """A text without some stretches of another text, and the way back to its places."""

    def __init__(self, text: str, stretches: list[tuple[int, int]]) -> None:
        edges = [0, *(edge for stretch in stretches for edge in stretch), len(text)]
        self.text = "".join(text[start:end] for start, end in zip(edges[::2], edges[1::2], strict=True))
        self.removed = list(accumulate((end - start for start, end in stretches), initial=0))
        self.places = [start - shift for (start, _), shift in zip(stretches, self.removed, strict=False)]

    def back(self, find: Find) -> Find:
        """A find at its place in the other text, with the stretches within it."""
        first, last = bisect_right(self.places, find.start), bisect_left(self.places, find.end)
        return find._replace(start=find.start + self.removed[first], end=find.end + self.removed[last])


def _breaks(text: str) -> Iterator[tuple[int, int]]:
    """Ends of lines, with the blanks around them, between parts of a value: neither is a word, one has a prefix or digits.

    PDF readers also join lines with a blank: it counts behind the beginning of a key that a vendor's prefix shows.
    """
    cuts = _cuts()
    for second in cuts["second"].finditer(text):
        begin = max(0, second.start() - LONGEST)
        before = text[begin : second.start()].rstrip(" \t\r")
        first = (before.split() or [""])[-1]
        is_value = cuts["prefixed"].search(first) or cuts["mixed"].search(second[1])
        if is_value and cuts["first"].fullmatch(first) and before.endswith(first):
            yield begin + len(before), second.start(1)
    # RE2 reads UTF-8, which has no half of a surrogate pair: one other character stands for it.
    for key in cuts["vendor"].finditer(text.encode("utf-8", "replace").decode()) if " " in text else ():
        place = key.end(1) if cuts["drawn"].search(key[1]) else len(text)
        while following := cuts["next"].match(text, place):
            yield place, place + 1
            place = following.end()


@lru_cache(maxsize=1)
def _cuts() -> Mapping[str, Any]:
    """The patterns of conf/redaction/assay.toml for what cuts a value in two; `vendor` is read in linear time."""
    table = dict(rule_tables()["assay.toml"]["cuts"])
    keywords = {word for rule in shape_rules().rules for word in rule.keywords if VENDOR.fullmatch(word)}
    prefixes = "|".join(re2.escape(word).replace("_", r"\\?_") for word in sorted({*keywords, *table.pop("prefixes")}))
    vendor = re2.compile(table.pop("vendor").replace("PREFIX", prefixes))
    return {"vendor": vendor, **{name: re.compile(pattern) for name, pattern in table.items()}}


def _by_form_and_name(data: bytes) -> Iterator[Find]:
    yield from _by_form(data)
    yield from named_values().finds(data)


def _by_form(data: bytes) -> Iterator[Find]:
    for rule in shape_rules().candidates(data):
        yield from (Find(start, end, rule.name, rule.rank) for start, end in rule.places(data))


def _across(joined: _Cut) -> Iterator[Find]:
    """Values by form that only a text without some of its line ends and marks shows, at their places in the whole text."""
    for find in in_characters(joined.text, _by_form):
        is_across = bisect_right(joined.places, find.start) < bisect_left(joined.places, find.end)
        is_sure = not find.rank or any(map(str.isdigit, joined.text[find.start : find.end]))
        if is_across and find.rule != GENERIC and is_sure:
            yield joined.back(find)
