"""Drops hits in old editions of documents where a newer edition was found, too."""

from collections.abc import Sequence

import numpy as np

from rag.core.checks import check_number
from rag.core.corpus import Corpus
from rag.core.editions import Editions, editions_of
from rag.core.errors import ConfigError
from rag.core.memo import Once
from rag.core.rankings import Rankings


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
        editions: Editions = self._known(corpus.documents, lambda: editions_of(corpus.documents, self.by, self.statuses))
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
