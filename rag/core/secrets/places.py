"""Places of found values: merged, outside of placeholders, and stable under replacement."""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from rag.core.text.edits import Cut, Edited

PLACEHOLDER = re.compile(r"\[redacted: [\w.-]+\]")
SHORTEST, ROUNDS = 3, 8
"""Characters of a value that is found next to a placeholder; passes over a text until nothing more is found."""


def placeholder(rule: str) -> str:
    """The text in place of a value that a rule found."""
    return f"[redacted: {rule}]"


def without_rules(text: str) -> str:
    """The text with an `x` for each letter of a rule in a placeholder: `generic-api-key]` is not the name of the next value."""
    return PLACEHOLDER.sub(lambda found: placeholder("x" * (len(found[0]) - len(placeholder("")))), text)


class Find(NamedTuple):
    """A value at the characters [start, end). Of rules that find the same value, the one with the lowest `rank` names it."""

    start: int
    end: int
    rule: str
    rank: int = 0


def merged(finds: Iterable[Find]) -> list[Find]:
    """Finds in reading order; those that overlap become one, under the rule of the lowest rank, and then of the longest."""
    result: list[Find] = []
    for find in sorted(finds):
        if result and find.start < result[-1].end:
            last = result[-1]
            named = min(last, find, key=lambda each: (each.rank, each.start - each.end))
            result[-1] = Find(last.start, max(last.end, find.end), named.rule, named.rank)
        else:
            result.append(find)
    return result


def replaced(text: str, finds: Sequence[tuple[int, int, str]]) -> str:
    """The text with placeholders at the finds, which are in reading order and do not overlap."""
    return Edited.of(text, [Cut(start, end, placeholder(rule)) for start, end, rule in finds]).text


def stable(text: str, find: Callable[[str], Iterable[Find]]) -> list[Find]:
    """The merged finds of a text, with those that show only once the others are replaced: a second redaction finds nothing."""
    found = merged(_outside(text, find(text)))
    for _ in range(ROUNDS if found else 0):
        changed = replaced(text, [each[:3] for each in found])
        more = merged(_outside(changed, find(changed)))
        if not more:
            break
        found = merged([*found, *_moved_back(found, more)])
    return found


def _outside(text: str, finds: Iterable[Find]) -> Iterator[Find]:
    """The parts of finds that are outside of placeholders."""
    closed = [match.span() for match in PLACEHOLDER.finditer(text)] if "[redacted: " in text else []
    ends = [last for _, last in closed]
    for find in finds:
        start, place = find.start, bisect_right(ends, find.start)
        while place < len(closed) and closed[place][0] < find.end:
            if closed[place][0] - start >= SHORTEST:
                yield find._replace(start=start, end=closed[place][0])
            start, place = closed[place][1], place + 1
        if start == find.start or find.end - start >= SHORTEST:
            yield find._replace(start=start) if start != find.start else find


def _moved_back(found: Sequence[Find], more: Iterable[Find]) -> Iterator[Find]:
    """Finds in a text with placeholders, at their places in the text before."""
    grown = list(accumulate(len(placeholder(each.rule)) - (each.end - each.start) for each in found))
    ends = [each.end + growth for each, growth in zip(found, grown, strict=True)]
    for find in more:
        before = bisect_right(ends, find.start)
        shift = grown[before - 1] if before else 0
        yield find._replace(start=find.start - shift, end=find.end - shift)
