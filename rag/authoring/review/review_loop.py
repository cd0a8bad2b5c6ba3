"""Review questions one by one: a person accepts, edits or drops what a rule, a model, a file or a rating proposes."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rag.authoring.candidates import Row
from rag.authoring.review.drafts import Draft, Opinion, accepted, draft, words_of
from rag.authoring.review.drift import drift_of, places_of, quoted_places, span_at, waits
from rag.authoring.review.pool_drafts import pool_drafts, pool_file
from rag.authoring.review.question_file import QuestionFile
from rag.core.errors import DataError, UserError, closest
from rag.core.headings import above, sections
from rag.core.pages import label, pages_of
from rag.core.types import Document, Span
from rag.documents.anchors.quote_anchors import find_document
from rag.evaluation.data.validation import ALIKE

LISTS: Mapping[str, type] = {"history": dict, "answers": str, "evidence": dict}
"""Keys of a question with a list, and what it lists. A line is read without a check, so that each can be dropped."""
AROUND = 240
"""Characters of a document that are shown before and after a quote."""


@dataclass(frozen=True, slots=True)
class _Decision:
    """A question before and after it was decided, and the number of its line."""

    name: str
    before: Row
    after: Row | None
    line: int


class Review:
    """Decisions about all that waits, each written at once.

    `waiting` are ratings, by the id of their answer, and the questions of a set whose provenance has no `accepted`, by id.
    `settle` removes ratings that have been decided. A rating whose question is already in the set, from a review that was
    interrupted, is settled at once. `by` is the reviewer. Not safe for threads.
    """

    def __init__(
        self,
        file: QuestionFile,
        opinions: Iterable[Opinion] = (),
        settle: Callable[[Sequence[str]], None] | None = None,
        by: str = "",
    ) -> None:
        self.file, self._settle, self._by = file, settle or (lambda _: None), by
        self.accepted: list[str] = []
        self.dropped: list[str] = []
        self._decisions: list[_Decision] = []
        self._ratings: dict[str, Draft] = {each.answer: Draft(each, {}) for each in opinions}
        self._draft_again()
        if known := [name for name, each in self._ratings.items() if each.known]:
            self._settle(known)
        self._ratings = {name: each for name, each in self._ratings.items() if not each.known}
        self._version: tuple[int, ...] | None = None
        self.refresh()

    def refresh(self) -> None:
        """Read the questions again if the file has changed, as by another reviewer."""
        if self._version == (version := self.file.version()):
            return
        rows = self.file.rows()
        self._version = version
        self._words = {str(row.get("id")): words_of(str(row.get("text"))) for row in rows}
        own = (Draft(None, row) for row in rows if waits(row))
        pool = pool_drafts(rows, pool_file(self.file.path))
        self.waiting: dict[str, Draft] = {**self._ratings, **{each.name: each for each in (*own, *pool)}}

    @property
    def undoable(self) -> bool:
        """True if there is a decision that `undo` can take back."""
        return bool(self._decisions)

    def accept(self, name: str, row: Row | None = None) -> None:
        """Write a question, or its edited row, into the set; DataError if it is refused.

        The other ratings are drafted again: they may now share evidence with the new question.
        """
        chosen = self._find(name)
        if row is None and chosen.open:
            raise DataError(name, chosen.open[0], "edit it: `e` when asked, or --edited with a line for it")
        written = accepted(chosen, dict(chosen.row if row is None else row), self._by, self.file.documents)
        if chosen.opinion:
            self.file.add(written)
        else:
            self._swap(chosen, written)
        self._done(chosen, self.accepted)
        if chosen.opinion and self._ratings:
            self._draft_again()
            self._version = None
            self.refresh()

    def drop(self, name: str) -> None:
        """Remove a rating, or a question from the set; a passage is judged as not relevant. DataError if it does not wait."""
        chosen = self._find(name)
        if not chosen.opinion:
            left = replace(chosen, row=chosen.refused) if chosen.refused else None
            self._swap(chosen, accepted(left, left.row, self._by, self.file.documents) if left else None)
        self._done(chosen, self.dropped)

    def undo(self) -> str:
        """Take the last decision about a question of the set back, and return its name; DataError if there is none.

        A decided rating is deleted and cannot come back.
        """
        if not self._decisions:
            raise DataError("undo", "no question of the set has been decided", "ratings cannot be taken back")
        last = self._decisions[-1]
        self.file.swap(last.after, last.before, last.line)
        self._decisions.pop()
        (self.dropped if last.name in self.dropped else self.accepted).remove(last.name)
        self._version = None
        self.refresh()
        return last.name

    def refusal(self, name: str, row: Row) -> str | None:
        """Why the set would refuse a row as the edited row of a question; None if it would not."""
        chosen = self._find(name)
        error = self.file.refusal(row, None if chosen.opinion else chosen.row)
        return str(error) if error else None

    def edited(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Accept edited rows, matched by `id`; DataError for a row without a waiting question."""
        names = {each.row["id"]: name for name, each in self.waiting.items() if not each.label}
        for row in rows:
            name = row.get("id")
            if name not in names:
                raise DataError("--edited", f"no rating waits to become {name!r}", closest(str(name), names))
            self.accept(names[name], dict(row))

    def look(self, name: str) -> dict[str, Any]:
        """A waiting question as JSON values, with the text around its evidence, its problems and notes."""
        chosen = self._find(name)
        wrong: Row = {key: [] for key, kind in LISTS.items() if not _listed(chosen.row.get(key) or [], kind)}
        chosen = replace(chosen, row=chosen.row | wrong, open=(*chosen.open, *(f"its {key!r} cannot be read" for key in wrong)))
        evidence = [
            [shown(place, self.file.documents) for place in places_of(group)] for group in chosen.row.get("evidence") or ()
        ]
        notes = [*chosen.notes, *self._twins(chosen.row), *_elsewhere(chosen.row, self.file.documents)]
        told = chosen.opinion.told if chosen.opinion else {}
        rated = {"question": told["question"], "reply": told["answer"], "contexts": told["contexts"]} if told else {}
        return chosen.to_json() | rated | {"evidence": evidence, "notes": notes}

    def to_json(self) -> dict[str, Any]:
        """What was decided, and what waits."""
        waiting = [each.to_json() for each in self.waiting.values()]
        return {"accepted": self.accepted, "dropped": self.dropped, "candidates": waiting}

    def _draft_again(self) -> None:
        if self._ratings:
            golden = self.file.golden()
            self._ratings = {each.name: draft(each.opinion, golden) for each in self._ratings.values() if each.opinion}

    def _find(self, name: str) -> Draft:
        self.refresh()
        if name not in self.waiting:
            raise DataError("review", f"no question and no rating of {name!r} waits", closest(name, self.waiting))
        return self.waiting[name]

    def _swap(self, chosen: Draft, row: Row | None) -> None:
        self._version = None  # the file is read again if its line has been changed by another reviewer
        before = chosen.row if chosen.before is None else chosen.before
        line = self.file.swap(before, row)
        if not chosen.label:  # other passages of its question are drafted again
            self._version = self.file.version()
        self._decisions.append(_Decision(chosen.name, before, row, line))

    def _done(self, chosen: Draft, where: list[str]) -> None:
        if chosen.opinion:
            self._settle([chosen.name])
            del self._ratings[chosen.name]
        self.waiting.pop(chosen.name)
        where.append(chosen.name)

    def _twins(self, row: Row) -> Iterator[str]:
        own = words_of(str(row.get("text", "")))
        for name, words in self._words.items():
            if own and name != row.get("id") and len(own & words) >= ALIKE * len(own | words):
                yield f"{name} has nearly the same words"


def _listed(value: Any, kind: type) -> bool:
    return isinstance(value, list) and all(isinstance(each, kind) for each in value)


def _elsewhere(row: Row, documents: Mapping[str, Document]) -> Iterator[str]:
    """Notes on quotes that occur in documents which are not gold, so that finding them there would count as wrong."""
    places = list(quoted_places(row))
    for place in places:
        others = documents.keys() - {each["doc"] for each in places}
        if holding := [name for name in sorted(others) if place["quote"] in documents[name].text]:
            yield f"the quote {place['quote'][:60]!r} is also in {', '.join(holding[:3])}"


def shown(place: Row, documents: Mapping[str, Document]) -> dict[str, Any]:
    """A quote in its document as JSON values: heading, page, and the text before, in and after it; or the problem with it.

    Of a whole document there is the beginning only.
    """
    try:
        span = span_at(place, documents) if "quote" in place else Span(place["doc"], 0, 0)
        find_document(span.doc_id, documents, "evidence")
    except UserError as error:
        place = {"quote": "", **place}
        found = drift_of({}, place, documents)
        near = f"{found.state}: {', '.join(found.to)}: {found.new or found.quote}" if found and found.to else error.remedy
        return {"doc": place["doc"], "quote": place["quote"], "problem": error.what, "near": near}
    document = documents[span.doc_id]
    start, end = max(0, span.start - AROUND), span.end + AROUND
    before, after = document.text[start : span.start], document.text[span.end : end]
    return {
        "doc": span.doc_id,
        "heading": above(sections(document.text), span.start).path,
        "page": label(pages_of(document.blocks, span.start, span.end)),
        "before": f"… {before.partition(' ')[2] or before}" if start else before,
        "quote": document.text[span.start : span.end],
        "after": f"{after.rpartition(' ')[0] or after} …" if end < len(document.text) else after,
        "problem": "",
    }
