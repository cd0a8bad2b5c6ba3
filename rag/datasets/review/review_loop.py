"""Review ratings one by one: a person accepts, edits or drops the golden question that each would become."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from rag.core.errors import DataError, closest
from rag.datasets.candidates import Row
from rag.datasets.review.drafts import Draft, Opinion, confirmed, draft
from rag.datasets.review.question_file import QuestionFile


class Review:
    """The waiting ratings, as drafts by the id of their answer. `settle` removes ratings that have been decided.

    A rating whose question is already in the set, from a review that was interrupted, is settled at once.
    """

    def __init__(self, file: QuestionFile, opinions: Iterable[Opinion], settle: Callable[[Sequence[str]], None]) -> None:
        self._file, self._settle = file, settle
        golden = file.golden()
        drafts = [draft(opinion, golden) for opinion in opinions]
        if known := [each.opinion.answer for each in drafts if each.known]:
            settle(known)
        self.waiting: dict[str, Draft] = {each.opinion.answer: each for each in drafts if not each.known}
        self.accepted: list[str] = []
        self.dropped: list[str] = []

    def accept(self, answer: str, row: Row | None = None) -> None:
        """Write the draft of a rating, or its edited row, into the set; DataError if it is refused.

        The other ratings are drafted again: they may now share evidence with the new question.
        """
        chosen = self._find(answer)
        if row is None and chosen.open:
            raise DataError(answer, chosen.open[0], "edit it: `e` when asked, or --edited with a line for it")
        self._file.add(confirmed(chosen.row if row is None else row))
        self._done(answer, self.accepted)
        golden = self._file.golden()
        self.waiting = {name: draft(each.opinion, golden) for name, each in self.waiting.items()}

    def refusal(self, row: Row) -> str | None:
        """Why the set would refuse a question; None if it would not."""
        error = self._file.refusal(row)
        return str(error) if error else None

    def drop(self, answer: str) -> None:
        """Drop a rating; DataError if it does not wait."""
        self._find(answer)
        self._done(answer, self.dropped)

    def edited(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Accept edited rows, matched to ratings by `id`; DataError for a row without a rating."""
        answers = {each.row["id"]: answer for answer, each in self.waiting.items()}
        for row in rows:
            name = row.get("id")
            if name not in answers:
                raise DataError("--edited", f"no rating waits to become {name!r}", closest(str(name), answers))
            self.accept(answers[name], dict(row))

    def to_json(self) -> dict[str, Any]:
        """The decided ratings, and the drafts of the waiting ones."""
        waiting = [each.to_json() for each in self.waiting.values()]
        return {"accepted": self.accepted, "dropped": self.dropped, "candidates": waiting}

    def _find(self, answer: str) -> Draft:
        if answer not in self.waiting:
            raise DataError("answer", f"no rating of {answer!r} waits", closest(answer, self.waiting))
        return self.waiting[answer]

    def _done(self, answer: str, where: list[str]) -> None:
        self._settle([answer])
        del self.waiting[answer]
        where.append(answer)
