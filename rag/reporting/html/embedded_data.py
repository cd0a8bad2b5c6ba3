"""The question explorer's data, small enough to lie in a page: an index, shards of questions, and pieces of texts.

What a page needs at once (names, outcomes, the scores that order) is the index. What is shown of one question lies in a shard
that is unpacked when somebody opens it; the passages of all shards point into one table of texts, which holds what is shown of
a document and nothing else. Trials that read the same rankings share them.
"""

import base64
import gzip
import json
import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from rag.reporting.html.view_model import Explorer, Passage, Question, Ranked, Shown

BUDGET = 9_000_000
"""Characters that shards and texts may take in a page. Where they would take more, the trials that rank lowest keep their
scores and lose their passages and answers, half of them at a time."""
RATIO = 8
"""Plain text never became smaller than this by compression: what is larger than so many budgets is not tried."""
SHARD = 25
"""Questions that are unpacked together."""
MOST_COLUMNS = 8
PLAIN = 100_000
"""Characters up to which data stand in the page as they are, for people who read its source."""
METADATA, LONGEST = 6, 200
"""Entries of a document's metadata that are shown, and characters of each."""
COMPRESSION = 9


@dataclass(frozen=True)
class Packed:
    """Blocks for a page, each plain JSON or gzip in base64; `kept` of `trials` have their passages in it."""

    index: str
    shards: tuple[str, ...]
    texts: str
    kept: int
    trials: int

    @property
    def size(self) -> int:
        """Characters of shards and texts."""
        return len(self.texts) + sum(len(shard) for shard in self.shards)


def block(content: Any) -> str:
    """JSON for a data block: with nothing in it that could end the block, and compressed where it is long."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    if len(text) > PLAIN:
        return base64.b64encode(gzip.compress(text.encode("utf-8", "replace"), COMPRESSION, mtime=0)).decode("ascii")
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def pack(explorer: Explorer, budget: int = BUDGET) -> Packed:
    """Pack an explorer whose trials stand in the order in which they matter; as many as the budget holds keep passages."""
    keep = len(explorer.trials)
    while True:
        shown = explorer.trials[:keep]
        if not keep or _characters(explorer, shown) <= RATIO * budget:
            packed = _packed(explorer, shown)
            if not keep or packed.size <= budget:
                return packed
        keep //= 2


def _packed(explorer: Explorer, shown: Sequence[Shown]) -> Packed:
    rankings = list(dict.fromkeys(trial.ranking for trial in shown if trial.ranking in explorer.rankings))
    texts = _Texts(explorer)
    for name in rankings:
        texts.add(passage for row in explorer.rankings[name].passages for passage in row if passage)
    texts.add(place for question in explorer.questions for group in question.gold for place in group)
    numbered = texts.numbered()
    columns = tuple(explorer.trials[0].scores)[:MOST_COLUMNS] if explorer.trials else ()
    rows = range(len(explorer.questions))
    shards = [
        [_question(explorer, row, shown, rankings, numbered, columns) for row in rows[first : first + SHARD]]
        for first in range(0, len(rows), SHARD)
    ]
    index = _index(explorer, shown, rankings, columns)
    sent = block(texts.to_json())
    return Packed(block(index), tuple(map(block, shards)), sent, len(shown), len(explorer.trials))


def _index(explorer: Explorer, shown: Sequence[Shown], rankings: Sequence[str], columns: Sequence[str]) -> dict[str, Any]:
    # The first column is the one that questions are ordered by.
    column = next(iter(columns), "")
    kinds = sorted({question.kind for question in explorer.questions})
    places = {name: number for number, name in enumerate(rankings)}
    kept = {trial.trial_id for trial in shown}
    return {
        "column": column,
        "columns": list(columns),
        "shard": SHARD,
        "ids": [question.query_id for question in explorer.questions],
        "texts": [question.text for question in explorer.questions],
        "kinds": kinds,
        "kind": [kinds.index(question.kind) for question in explorer.questions],
        "trials": [trial.trial_id for trial in explorer.trials],
        "k": [trial.k for trial in explorer.trials],
        "ranking": [places.get(trial.ranking, -1) if trial.trial_id in kept else -1 for trial in explorer.trials],
        "kept": len(shown),
        "outcomes": ["".join(map(str, trial.outcomes)) for trial in explorer.trials],
        "stages": ["".join(map(str, trial.stages)) for trial in explorer.trials],
        "scores": [[_thousandth(value) for value in trial.scores.get(column, ())] for trial in explorer.trials],
    }


def _question(
    explorer: Explorer,
    row: int,
    shown: Sequence[Shown],
    rankings: Sequence[str],
    numbered: dict[str, int],
    columns: Sequence[str],
) -> dict[str, Any]:
    """All that is shown of one question: passages are numbered within it, the ones that most rankings show first."""
    question = explorer.questions[row]
    found = [explorer.rankings[name] for name in rankings]
    known, refs = _numbers([ranked.passages[row] for ranked in found])
    replies: dict[str, int] = {}
    answers = [replies.setdefault(trial.answers[row], len(replies)) if trial.answers else -1 for trial in shown]
    return _asked(question, numbered) | {
        "passages": [value for doc, start, end in known for value in (numbered[doc], start, end)],
        "ranked": refs,
        "found": [list(ranked.found[row]) for ranked in found],
        "scores": [
            [_thousandth(trial.scores[name][row]) if name in trial.scores else None for trial in shown] for name in columns
        ],
        "replies": list(replies),
        "reply": answers,
    }


def _asked(question: Question, numbered: dict[str, int]) -> dict[str, Any]:
    gold = [[[numbered[doc], start, end] for doc, start, end in group if doc in numbered] for group in question.gold]
    return {
        "tags": list(question.tags),
        "history": [list(turn) for turn in question.history],
        "answers": list(question.answers),
        "gold": gold,
    }


def _numbers(rows: Sequence[Sequence[Passage | None]]) -> tuple[list[Passage], list[list[int]]]:
    """The passages of some rankings, and the rankings as their numbers; -1 for what has none of its own."""
    counts = Counter(passage for row in rows for passage in row if passage)
    known = sorted(counts, key=lambda passage: -counts[passage])
    numbers = {passage: number for number, passage in enumerate(known)}
    return known, [[numbers[passage] if passage else -1 for passage in row] for row in rows]


def _thousandth(value: float) -> int | None:
    return None if math.isnan(value) else round(1000 * value)


def _characters(explorer: Explorer, shown: Collection[Shown]) -> int:
    """About how many characters of text and of answers these trials show, before any is packed."""
    rankings = {trial.ranking for trial in shown} & set(explorer.rankings)
    named = {passage[0] for name in rankings for row in explorer.rankings[name].passages for passage in row if passage}
    said = sum(len(answer) for trial in shown for answer in set(trial.answers))
    return said + sum(len(explorer.documents.get(doc, "")) for doc in named)


class _Texts:
    """The pieces of documents that passages and gold point to, neighbours and overlaps put together."""

    def __init__(self, explorer: Explorer) -> None:
        self.explorer = explorer
        self.ranges: dict[str, set[tuple[int, int]]] = {}

    def add(self, places: Iterable[Passage]) -> None:
        """Note what is shown; a whole document is noted by its name."""
        for doc, start, end in places:
            if doc in self.explorer.documents:
                self.ranges.setdefault(doc, set()).add((max(start, 0), max(end, 0)))

    def numbered(self) -> dict[str, int]:
        """Every document that is shown has a number."""
        return {doc: number for number, doc in enumerate(self.ranges)}

    def to_json(self) -> dict[str, Any]:
        """Names, metadata and pieces (start, text, start, text, …) by number."""
        metadata = [self.explorer.metadata.get(doc, {}) for doc in self.ranges]
        return {
            "names": list(self.ranges),
            "metadata": [{key: str(value)[:LONGEST] for key, value in list(of.items())[:METADATA]} for of in metadata],
            "pieces": [self._pieces(doc, ranges) for doc, ranges in self.ranges.items()],
        }

    def _pieces(self, doc: str, ranges: set[tuple[int, int]]) -> list[int | str]:
        pieces: list[int | str] = []
        for start, end in _joined(ranges):
            pieces += [start, self.explorer.documents[doc][start:end]]
        return pieces


def _joined(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        elif end > start:
            joined.append((start, end))
    return joined


__all__ = ["BUDGET", "Packed", "Ranked", "block", "pack"]
