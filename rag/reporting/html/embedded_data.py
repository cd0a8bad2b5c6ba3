"""The data of the question explorer, embedded in the page: an index, shards of questions, and pieces of texts.

The index holds what a page needs at once: names, outcomes, the scores that order questions. All else of a question is in a
shard, which is unpacked when a reader opens one of its questions. The passages of all shards point into one table of texts,
which holds only the pieces of documents that are shown. Trials that read the same rankings share them.
"""

import base64
import gzip
import json
import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rag.analysis.chunk_structure import SeenChunk
from rag.reporting.html.view_model import Explorer, GoldChunks, Passage, Shown
from rag.reporting.terminal.passages import joined_ranges

BUDGET = 9_000_000
"""Characters that shards and texts may take in a page. If they take more, the trials that rank lowest keep their scores and
lose their passages and answers, half of the trials at a time."""
RATIO = 8
"""Compression never made plain text smaller than this: more than so many budgets of text are not compressed to find out."""
SHARD = 25
"""Questions that are unpacked together."""
MOST_COLUMNS = 8
STAGE_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
"""One character for each stage, as JavaScript reads numbers to base 36."""
PLAIN = 100_000
"""Characters up to which a block is plain JSON, readable in the page's source."""
METADATA, LONGEST = 6, 200
"""Entries of a document's metadata that are shown, and characters of each."""
COMPRESSION = 9


@dataclass(frozen=True)
class Packed:
    """Blocks for a page, each plain JSON or gzip in base64; `kept` of `trials` trials keep their passages."""

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
    """JSON for a data block, compressed if it is long; no character in it can end the block."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    if len(text) > PLAIN:
        return base64.b64encode(gzip.compress(text.encode("utf-8", "replace"), COMPRESSION, mtime=0)).decode("ascii")
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def chunk_values(chunk: SeenChunk) -> list[Any]:
    """A chunk in a page: start, end, flags, and what an index reads besides."""
    return [chunk.start, chunk.end, list(chunk.flags), *chunk.extra]


def pack(explorer: Explorer, budget: int = BUDGET) -> Packed:
    """Pack an explorer whose trials are in order of importance; as many as fit into the budget keep their passages."""
    keep = len(explorer.trials)
    while keep and _characters(explorer, explorer.trials[:keep]) > RATIO * budget:
        keep //= 2
    packed = _packed(explorer, explorer.trials[:keep])
    while keep and packed.size > budget:
        keep //= 2
        packed = _packed(explorer, explorer.trials[:keep])
    return packed


def _packed(explorer: Explorer, shown: Sequence[Shown]) -> Packed:
    rankings = list(dict.fromkeys(trial.ranking for trial in shown if trial.ranking in explorer.rankings))
    ranges = _ranges(explorer, rankings)
    numbers = {doc: number for number, doc in enumerate(ranges)}
    columns = tuple(explorer.trials[0].scores)[:MOST_COLUMNS] if explorer.trials else ()
    questions = [_question(explorer, row, shown, rankings, numbers, columns) for row in range(len(explorer.questions))]
    shards = [questions[first : first + SHARD] for first in range(0, len(questions), SHARD)]
    index, texts = block(_index(explorer, shown, rankings, columns)), block(_texts(explorer, ranges))
    return Packed(index, tuple(map(block, shards)), texts, len(shown), len(explorer.trials))


def _ranges(explorer: Explorer, rankings: Sequence[str]) -> dict[str, set[tuple[int, int]]]:
    """The ranges of every document that passages and gold point to."""
    found: dict[str, set[tuple[int, int]]] = {}
    gold = [place for groups in explorer.gold for group in groups for place in group]
    for doc, start, end in (*_places(explorer, rankings), *gold):
        if doc in explorer.documents:
            found.setdefault(doc, set()).add((max(start, 0), max(end, 0)))
    return found


def _places(explorer: Explorer, rankings: Iterable[str]) -> Iterator[Passage]:
    """The passages of some rankings, and their chunks at the gold."""
    for ranked in (explorer.rankings[name] for name in rankings):
        yield from (passage for row in ranked.passages for passage in row if passage)
        yield from ((one.document, each.start, each.end) for row in ranked.gold for one in row for _, each in one.chunks)


def _texts(explorer: Explorer, ranges: Mapping[str, set[tuple[int, int]]]) -> dict[str, Any]:
    """Names, metadata and pieces (start, text, start, text, …) of the documents that are shown, by number."""
    metadata = [explorer.metadata.get(doc, {}) for doc in ranges]
    return {
        "names": list(ranges),
        "metadata": [{key: str(value)[:LONGEST] for key, value in list(of.items())[:METADATA]} for of in metadata],
        "pieces": [
            [part for start, end in joined_ranges(places) for part in (start, explorer.documents[doc][start:end])]
            for doc, places in ranges.items()
        ],
    }


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
        "ids": [question.query.query_id for question in explorer.questions],
        "texts": [question.query.text for question in explorer.questions],
        "kinds": kinds,
        "kind": [kinds.index(question.kind) for question in explorer.questions],
        "trials": [trial.trial_id for trial in explorer.trials],
        "k": [trial.k for trial in explorer.trials],
        "ranking": [places.get(trial.ranking, -1) if trial.trial_id in kept else -1 for trial in explorer.trials],
        "kept": len(shown),
        "outcomes": ["".join(map(str, trial.outcomes)) for trial in explorer.trials],
        "stages": ["".join(STAGE_DIGITS[stage] for stage in trial.stages) for trial in explorer.trials],
        "scores": [[_thousandths(value) for value in trial.scores.get(column, ())] for trial in explorer.trials],
    }


def _question(
    explorer: Explorer,
    row: int,
    shown: Sequence[Shown],
    rankings: Sequence[str],
    numbers: Mapping[str, int],
    columns: Sequence[str],
) -> dict[str, Any]:
    """All that is shown of one question: passages are numbered within it, those of most rankings first."""
    question = explorer.questions[row]
    ranked = [explorer.rankings[name] for name in rankings]
    known, places = _numbers([each.passages[row] for each in ranked])
    replies: dict[str, int] = {}
    answers = [replies.setdefault(trial.answers[row], len(replies)) if trial.answers else -1 for trial in shown]
    return {
        "tags": list(question.tags),
        "history": [[turn.role, turn.text] for turn in question.query.history],
        "answers": list(question.answers),
        "gold": [[[numbers[doc], start, end] for doc, start, end in group if doc in numbers] for group in explorer.gold[row]],
        "passages": [value for doc, start, end in known for value in (numbers[doc], start, end)],
        "ranked": places,
        "found": [list(each.found[row]) for each in ranked],
        "near": [[_near(one, numbers) for one in each.gold[row]] if each.gold else [] for each in ranked],
        "scores": [
            [_thousandths(trial.scores[name][row]) if name in trial.scores else None for trial in shown] for name in columns
        ],
        "replies": list(replies),
        "reply": answers,
    }


def _near(gold: GoldChunks, numbers: Mapping[str, int]) -> list[Any]:
    return [gold.said, numbers.get(gold.document, -1), *([rank, *chunk_values(chunk)] for rank, chunk in gold.chunks)]


def _numbers(rows: Sequence[Sequence[Passage | None]]) -> tuple[list[Passage], list[list[int]]]:
    """The passages of some rankings, and the rankings as numbers of passages; -1 for a hit without its own passage."""
    counts = Counter(passage for row in rows for passage in row if passage)
    known = sorted(counts, key=lambda passage: -counts[passage])
    numbers = {passage: number for number, passage in enumerate(known)}
    return known, [[numbers[passage] if passage else -1 for passage in row] for row in rows]


def _thousandths(value: float) -> int | None:
    return None if math.isnan(value) else round(1000 * value)


def _characters(explorer: Explorer, shown: Collection[Shown]) -> int:
    """About how many characters of texts and answers these trials show."""
    rankings = {trial.ranking for trial in shown} & set(explorer.rankings)
    named = {place[0] for place in _places(explorer, rankings)}
    answers = sum(len(answer) for trial in shown for answer in set(trial.answers))
    return answers + sum(len(explorer.documents.get(doc, "")) for doc in named)
