"""What people think of answers: ratings, each of them a candidate for a golden question."""

import re
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Literal

import sqlalchemy as sa

from rag.core.records import Turn
from rag.evaluation.data.review.drafts import Opinion
from rag.serve.conversations import stored_turns
from rag.serve.database import Database, MissingError
from rag.serve.sql_tables import ANSWERS, FEEDBACK, SESSIONS

ANSWER = re.compile(r"ans_[0-9a-f]{24}")


def answer_id() -> str:
    """The id of a new answer, which cannot be guessed."""
    return f"ans_{secrets.token_hex(12)}"


class NoAnswerError(MissingError):
    """There is no such answer, or no longer, or it is somebody else's."""

    def __init__(self) -> None:
        super().__init__("answer", "there is no such answer, or it is no longer kept", "rate an answer while its session lives")

    def __reduce__(self) -> tuple[type, tuple[()]]:
        return type(self), ()


class Opinions:
    """Ratings of the answers that a server gave, kept until somebody has reviewed them. Errors are those of Conversations."""

    def __init__(self, database: Database, idle: float = 1800, now: Callable[[], float] = time.time) -> None:
        self.database, self.idle, self._now = database, idle, now

    def keep(self, owner: str, told: Mapping[str, Any]) -> None:
        """Remember an answer that belongs to no session, for `idle` seconds, so that it can be rated."""
        row = {"id": told["id"], "owner": owner, "session": None, "number": None, "seen": 0, "at": self._now()}
        row |= {"question": told["question"], "answer": told["answer"], "told": dict(told)}
        with self.database.writing() as connection:
            connection.execute(sa.insert(ANSWERS), row)

    def add(self, owner: str, answer: str, rating: Literal[1, -1], comment: str = "") -> None:
        """Rate an answer of one's own; a second rating takes the place of the first. NoAnswerError where there is none."""
        if not ANSWER.fullmatch(answer):
            raise NoAnswerError
        expired = self._now() - self.idle
        alive = ANSWERS.c.session.in_(sa.select(SESSIONS.c.id).where(SESSIONS.c.used > expired))
        alone = sa.and_(ANSWERS.c.session.is_(None), ANSWERS.c.at > expired)
        mine = (ANSWERS.c.id == answer, ANSWERS.c.owner == owner, sa.or_(alive, alone))
        with self.database.writing() as connection:
            # Whoever rates the same answer at the same time waits here.
            found = connection.execute(sa.select(ANSWERS).where(*mine).with_for_update()).one_or_none()
            if found is None:
                raise NoAnswerError
            connection.execute(sa.delete(FEEDBACK).where(FEEDBACK.c.answer == answer))
            before = stored_turns(connection, found.session, sa.null(), seen=found.seen) if found.session else []
            history = [asdict(turn) for one in before for turn in one.turns]
            row = {"answer": answer, "owner": owner, "rating": int(rating), "comment": comment}
            row |= {"history": history, "told": found.told, "at": self._now()}
            connection.execute(sa.insert(FEEDBACK), row)

    def candidates(self) -> list[Opinion]:
        """All ratings that nobody has reviewed yet, of every owner, oldest first."""
        oldest = sa.select(FEEDBACK).order_by(FEEDBACK.c.at, FEEDBACK.c.answer)
        with self.database.reading() as connection:
            rows = connection.execute(oldest).all()
        return [
            Opinion(
                row.answer, row.owner, row.rating, row.comment, tuple(Turn(**turn) for turn in row.history), row.told, row.at
            )
            for row in rows
        ]

    def settle(self, answers: Sequence[str]) -> None:
        """Remove ratings that have been reviewed, with the texts that they hold."""
        with self.database.writing() as connection:
            connection.execute(sa.delete(FEEDBACK).where(FEEDBACK.c.answer.in_(answers)))
