"""Editions of documents: the old ones, and those that replace them."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from rag.core.types import Document, Value

PARTS = re.compile(r"\d+|\D+")
Order = tuple[bool, tuple[tuple[bool, int, str], ...]]
"""The place of a document in its series: False if its status says that it is superseded, then its date or version."""


@dataclass(frozen=True)
class Editions:
    """The editions of a corpus, as rows of its documents.

    `old` have a newer edition or a status that says so, `marked` that status, and `alone` have nothing else than it.
    """

    old: frozenset[int]
    marked: frozenset[int]
    alone: frozenset[int]
    series: Mapping[int, tuple[Value, Order]]
    successors: Mapping[int, set[int]]

    def newer(self, old: int, best: Mapping[int, float]) -> list[float]:
        """The scores of the documents in `best` that are newer editions of a document."""
        if old in self.alone:
            return [score for row, score in best.items() if row not in self.marked]
        later, seen = [old], {old}
        while later:
            found = self.successors.get(later.pop(), set()) - seen
            later, seen = [*later, *found], seen | found
        name, order = self.series.get(old, (None, None))
        if name is not None and order is not None:
            seen |= {
                row for row in best.keys() & self.series.keys() if self.series[row][0] == name and self.series[row][1] > order
            }
        return [best[row] for row in seen - {old} if row in best]


def editions_of(documents: Sequence[Document], by: str = "date", statuses: Collection[str] = ("superseded",)) -> Editions:
    """The editions of a corpus by the metadata `series`, `supersedes`, `status` and the key `by`; statuses in lower case."""
    rows = {document.doc_id: row for row, document in enumerate(documents)}
    old = {row for row, one in enumerate(documents) if str(one.metadata.get("status", "")).casefold() in statuses}
    series: dict[int, tuple[Value, Order]] = {}
    successors: dict[int, set[int]] = {}
    for row, document in enumerate(documents):
        if "series" in document.metadata and (row in old or by in document.metadata):
            series[row] = document.metadata["series"], (row not in old, _natural(document.metadata.get(by, "")))
        replaced = str(document.metadata.get("supersedes", "")).split(",")
        for each in replaced:
            if each.strip() in rows:
                successors.setdefault(rows[each.strip()], set()).add(row)
    latest: dict[Value, Order] = {}
    for name, order in series.values():
        latest[name] = max(order, latest.get(name, order))
    with_newer = {row for row, (name, order) in series.items() if order < latest[name]} | successors.keys()
    return Editions(frozenset(with_newer | old), frozenset(old), frozenset(old - with_newer), series, successors)


def _natural(value: Value) -> tuple[tuple[bool, int, str], ...]:
    """The sort key of a date or a version: 2.10 is later than 2.9."""
    parts = PARTS.findall(str(value))
    return tuple((part.isdecimal(), int(part), "") if part.isdecimal() else (False, 0, part) for part in parts)
