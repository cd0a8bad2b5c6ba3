"""Ratings that become golden questions, one after the other: accepted, edited or dropped by a person."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from rag.core.errors import DataError, closest
from rag.evaluation.data.review.drafts import Draft, Opinion, Row, confirmed, draft
from rag.evaluation.data.review.question_file import QuestionFile


class Review:
    """The ratings that wait, as drafts by the id of their answer. `settle` takes ratings away that have been decided.

    One that stands in the set already, for a review that broke off between writing and settling, is settled at once.
    """

    def __init__(self, file: QuestionFile, opinions: Iterable[Opinion], settle: Callable[[Sequence[str]], None]) -> None:
        self._file, self._settle = file, settle
        golden = file.golden()
        drafts = [draft(opinion, golden) for opinion in opinions]
        if known := [one.opinion.answer for one in drafts if one.known]:
            settle(known)
        self.waiting: dict[str, Draft] = {one.opinion.answer: one for one in drafts if not one.known}
        self.accepted: list[str] = []
        self.dropped: list[str] = []

    def accept(self, answer: str, row: Row | None = None) -> None:
        """Write the draft of a rating, or what it was edited to, into the set; DataError where that cannot be.

        What waits is drafted anew: it may now share its evidence with what was written.
        """
        found = self._find(answer)
        if row is None and found.open:
            raise DataError(answer, found.open[0], "edit it: `e` when asked, or --edited with a line for it")
        self._file.add(confirmed(found.row if row is None else row))
        self._done(answer, self.accepted)
        golden = self._file.golden()
        self.waiting = {name: draft(one.opinion, golden) for name, one in self.waiting.items()}

    def refusal(self, row: Row) -> str | None:
        """Why a question cannot stand in the set; None where it can."""
        error = self._file.refusal(row)
        return str(error) if error else None

    def drop(self, answer: str) -> None:
        """Let go of a rating; DataError where there is none."""
        self._find(answer)
        self._done(answer, self.dropped)

    def edited(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Accept rows that belong to ratings by their `id`; DataError for one that belongs to none."""
        answers = {one.row["id"]: answer for answer, one in self.waiting.items()}
        for row in rows:
            name = row.get("id")
            if name not in answers:
                raise DataError("--edited", f"no rating waits to become {name!r}", closest(str(name), answers))
            self.accept(answers[name], dict(row))

    def to_json(self) -> dict[str, Any]:
        """What was done, and what waits."""
        waiting = [one.to_json() for one in self.waiting.values()]
        return {"accepted": self.accepted, "dropped": self.dropped, "candidates": waiting}

    def _find(self, answer: str) -> Draft:
        if answer not in self.waiting:
            raise DataError("answer", f"no rating of {answer!r} waits", closest(answer, self.waiting))
        return self.waiting[answer]

    def _done(self, answer: str, where: list[str]) -> None:
        self._settle([answer])
        del self.waiting[answer]
        where.append(answer)
