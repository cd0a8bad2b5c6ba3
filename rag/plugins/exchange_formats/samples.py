"""A sample of what users asked a system, as drafts of golden questions with the sentences that are nearest to the answers."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress, islice, zip_longest

import numpy as np

from rag.analysis.ingestion.near_duplicates import groups, signature
from rag.authoring.candidates import Row
from rag.authoring.exchange.cells import passage_of
from rag.authoring.exchange.format_table import by_question, formats
from rag.authoring.exchange.tables import Rows
from rag.authoring.review.drafts import UNCONFIRMED, nearest_sentence, words_of
from rag.core.errors import DataError
from rag.core.figures import amount
from rag.core.redaction import redacted_json
from rag.core.systems import SystemPassage

STRATA = ("thumbs_down", "low_margin", "new_topic")
"""A bad answer, as a person rated it; the quarter with the closest scores of two passages, and with the fewest known words."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How a file is read: as `container`, or by its content; of traces `limit` questions, 0 for all, none that is `known`."""

    container: str = ""
    limit: int = 0
    seed: int = 0
    known: Sequence[str] = ()


WHOLE = Reading()


def rows_of_questions(rows: Rows, by: Reading, notes: list[str]) -> tuple[str, Rows]:
    """The format of rows, empty for none, and the rows of questions: of traces a sample of drafts, bad answers first.

    Near-duplicates are one question. With a limit each stratum, and the rest, gives the same number as far as it has them; the
    seed draws in each. A draft of a bad answer has no answer. `notes` gets what was left out.
    """
    name, rows = by_question(rows)
    return name, _sampled(rows, by, notes) if name and formats()[name].rows else rows


def _sampled(rows: Rows, by: Reading, notes: list[str]) -> Rows:
    found, failed = list[tuple[str, Row]](), 0
    for where, row in rows:
        if isinstance(row, DataError):
            yield where, row
        elif row.get("error"):
            failed += 1
        else:
            found.append((where, redacted_json(dict(row))))
    found.sort(key=lambda pair: pair[1].get("rating", 0) >= 0)
    texts = [*by.known, *(str(row["question"]) for _, row in found)]
    alike = groups(np.array([signature(text) for text in texts])) if texts else []
    repeated = {place for same, _ in alike for place in sorted(same)[1:]}
    kept = [pair for place, pair in enumerate(found, len(by.known)) if place not in repeated]
    strata = _strata([row for _, row in kept], by.known)
    order = np.random.default_rng(by.seed).permutation(len(kept)).tolist()
    queues = [[place for place in order if strata[place][:1] == mark] for mark in (*([name] for name in STRATA), [])]
    turns = (place for turn in zip_longest(*queues) for place in turn if place is not None)
    chosen = sorted(islice(turns, by.limit or None))
    lost = {"near-duplicates": len(found) - len(kept), "over the limit": len(kept) - len(chosen), "failed": failed}
    drawn = Counter(name for place in chosen for name in strata[place] or ["other"])
    said = (", ".join(f"{count} {name}" for name, count in each.items() if count) or "none" for each in (drawn, lost))
    notes.append(f"{amount(len(chosen), 'question')} of traces: {'; left out: '.join(said)}")
    yield from ((kept[place][0], _draft(kept[place][1], strata[place], kept[place][0])) for place in chosen)


def _strata(rows: Sequence[Row], known: Sequence[str]) -> list[list[str]]:
    """The strata of each question."""
    asked, low = [words_of(text) for text in known], list[set[int]]()
    words = [words_of(row["question"]) for row in rows]
    topics = [max((len(own & other) / max(len(own | other), 1) for other in asked), default=math.nan) for own in words]
    for values in ([_margin(row) for row in rows], topics):
        least = sorted((value, place) for place, value in enumerate(values) if not math.isnan(value))
        low.append({place for _, place in least[: math.ceil(len(least) / 4)]})
    fits = ((row.get("rating", 0) < 0, place in low[0], place in low[1]) for place, row in enumerate(rows))
    return [list(compress(STRATA, each)) for each in fits]


def _margin(row: Row) -> float:
    """The lead of the first passage over the second, relative to the greater score; NaN without two scores."""
    passages = [each for each in row.get("retrieved_contexts", ())[:2] if isinstance(each, dict)]
    scores = [float(score) for each in passages if isinstance(score := each.get("score"), int | float)]
    return math.nan if len(scores) < 2 else abs(scores[0] - scores[1]) / max(*map(abs, scores), 1e-12)


def _draft(row: Row, strata: Sequence[str], where: str) -> Row:
    """The row of a draft: of the passage that has most words of question and answer, the nearest sentence is its evidence."""
    answer = "" if row.get("rating", 0) < 0 else row.get("response", "")
    statement, passages = f"{row['question']} {answer}", [passage_of(each, where) for each in row.get("retrieved_contexts", ())]
    best = max(passages, key=lambda each: len(words_of(statement) & words_of(each.text)), default=SystemPassage())
    start, end = nearest_sentence(statement, best.text) if best.text else (0, 0)
    context = {name: value for name, value in (("text", best.text[start:end]), ("doc_id", best.document)) if value}
    draft = {name: row[name] for name in ("id", "question")} | {"kind": "asked", "tags": ["trace", *strata, UNCONFIRMED]}
    return draft | {"contexts": [context] if context else []} | ({"answer": answer} if answer else {})
