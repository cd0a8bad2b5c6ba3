"""Drops hits in old editions of documents where a newer edition was found, too."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rag.core.checks import check_number
from rag.core.corpus import Corpus
from rag.core.errors import ConfigError
from rag.core.memo import Once
from rag.core.rankings import Rankings
from rag.core.records import Document, Value

PARTS = re.compile(r"\d+|\D+")
Order = tuple[bool, tuple[tuple[bool, int, str], ...]]
"""The place of a document in its series: False if its status says that it is superseded, then its date or version."""


class EditionsSelector:
    """Drops a hit in an old edition if the question has a hit in a newer one.

    Metadata name the editions. Documents with the same `series` are editions of one another, ordered by the key `by`, numbers
    in it as numbers; a document without it has no place. A document is newer than those whose doc_ids its `supersedes` lists,
    with commas between. A document whose `status` is one of `statuses` is older than all of its series without such a status;
    if it has no newer edition by series or `supersedes`, it is older than every document without such a status.

    `share` protects questions about an old edition: its hits stay where the best score of a newer one is below `share` times
    their own. Scores are those of the previous stage; for a score that is not positive, newer editions always win.
    """

    def __init__(self, by: str = "date", statuses: Sequence[str] = ("superseded",), share: float = 0.8) -> None:
        if isinstance(statuses, str):
            raise ConfigError("selector.editions.statuses", f"{statuses!r} is not a list", "write [superseded]")
        check_number("selector.editions.share", share, 0, 1, "a share of the score of the old edition")
        self.by, self.statuses, self.share = by, frozenset(str(status).casefold() for status in statuses), float(share)
        self._known = Once()

    def select(self, rankings: Rankings, corpus: Corpus) -> Rankings:
        """The hits that no newer edition replaces, in their order."""
        editions: _Editions = self._known(corpus.documents, lambda: self._editions(corpus.documents))
        kept = np.ones(rankings.positions.shape, dtype=bool)
        if not editions.old:
            return rankings
        for number in range(len(rankings)):
            row = rankings.row(number)
            documents = corpus.doc[[position for position, _ in row]].tolist() if row else []
            best: dict[int, float] = {}
            for document, (_, score) in zip(documents, row, strict=True):
                best.setdefault(document, score)
            winners = {old: max(editions.newer(old, best), default=-np.inf) for old in editions.old & best.keys()}
            for place, (document, (_, score)) in enumerate(zip(documents, row, strict=True)):
                newest = winners.get(document, -np.inf)
                kept[number, place] = newest == -np.inf or (score > 0 and newest < self.share * score)
        return rankings.where(kept)

    def _editions(self, documents: Sequence[Document]) -> "_Editions":
        rows = {document.doc_id: row for row, document in enumerate(documents)}
        old = {row for row, one in enumerate(documents) if str(one.metadata.get("status", "")).casefold() in self.statuses}
        series: dict[int, tuple[Value, Order]] = {}
        successors: dict[int, set[int]] = {}
        for row, document in enumerate(documents):
            if "series" in document.metadata and (row in old or self.by in document.metadata):
                series[row] = document.metadata["series"], (row not in old, _natural(document.metadata.get(self.by, "")))
            replaced = str(document.metadata.get("supersedes", "")).split(",")
            for each in replaced:
                if each.strip() in rows:
                    successors.setdefault(rows[each.strip()], set()).add(row)
        latest: dict[Value, Order] = {}
        for name, order in series.values():
            latest[name] = max(order, latest.get(name, order))
        with_newer = {row for row, (name, order) in series.items() if order < latest[name]} | successors.keys()
        return _Editions(frozenset(with_newer | old), frozenset(old), frozenset(old - with_newer), series, successors)


def old_editions(documents: Sequence[Document]) -> frozenset[int]:
    """The rows of documents that have a newer edition among these, or a status that says so."""
    return EditionsSelector()._editions(documents).old


@dataclass(frozen=True)
class _Editions:
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


def _natural(value: Value) -> tuple[tuple[bool, int, str], ...]:
    """The sort key of a date or a version: 2.10 is later than 2.9."""
    parts = PARTS.findall(str(value))
    return tuple((part.isdecimal(), int(part), "") if part.isdecimal() else (False, 0, part) for part in parts)
