"""Ratings of answers; each is a candidate for a golden question."""

import re
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Literal

import sqlalchemy as sa

from rag.authoring.review.drafts import Opinion
from rag.core.redaction import redacted_json, without_secrets
from rag.core.types import Turn
from rag.serve.conversations import stored_turns
from rag.serve.database import Database, MissingError
from rag.serve.sql_tables import ANSWERS, FEEDBACK, SESSIONS

ANSWER = re.compile(r"ans_[0-9a-f]{24}")


def answer_id() -> str:
    """The id of a new answer, which cannot be guessed."""
    return f"ans_{secrets.token_hex(12)}"


def no_answer() -> MissingError:
    """The error for an answer that does not exist, has expired, or belongs to another owner."""
    return MissingError("answer", "there is no such answer, or it is no longer kept", "rate an answer while its session lives")


class Opinions:
    """Ratings of a server's answers, stored until a person has reviewed them; ServiceError as in Conversations."""

    def __init__(self, database: Database, idle: float = 1800, now: Callable[[], float] = time.time) -> None:
        self.database, self.idle, self._now = database, idle, now

    def keep(self, owner: str, payload: Mapping[str, Any]) -> None:
        """Store an answer outside of sessions for `idle` seconds, so that it can be rated."""
        row = {"id": payload["id"], "owner": owner, "session": None, "number": None, "seen": 0, "at": self._now()}
        row |= redacted_json({"question": payload["question"], "answer": payload["answer"], "told": payload})
        with self.database.writing() as connection:
            connection.execute(sa.insert(ANSWERS), row)

    def add(self, owner: str, answer: str, rating: Literal[1, -1], comment: str = "") -> None:
        """Rate an answer of the owner; a second rating replaces the first. MissingError if there is no such answer."""
        if not ANSWER.fullmatch(answer):
            raise no_answer()
        expired = self._now() - self.idle
        alive = ANSWERS.c.session.in_(sa.select(SESSIONS.c.id).where(SESSIONS.c.used > expired))
        alone = sa.and_(ANSWERS.c.session.is_(None), ANSWERS.c.at > expired)
        mine = (ANSWERS.c.id == answer, ANSWERS.c.owner == owner, sa.or_(alive, alone))
        with self.database.writing() as connection:
            # Two ratings of one answer at the same time wait for each other here.
            row = connection.execute(sa.select(ANSWERS).where(*mine).with_for_update()).one_or_none()
            if row is None:
                raise no_answer()
            connection.execute(sa.delete(FEEDBACK).where(FEEDBACK.c.answer == answer))
            before = stored_turns(connection, row.session, sa.null(), seen=row.seen) if row.session else []
            history = [asdict(message) for turn in before for message in turn.messages]
            rated = {"answer": answer, "owner": owner, "rating": int(rating), "comment": without_secrets(comment)}
            rated |= {"history": history, "told": row.told, "at": self._now()}
            connection.execute(sa.insert(FEEDBACK), rated)

    def candidates(self) -> list[Opinion]:
        """All ratings that have not been reviewed, of every owner, oldest first."""
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
        """Delete ratings that have been reviewed, with their texts."""
        with self.database.writing() as connection:
            connection.execute(sa.delete(FEEDBACK).where(FEEDBACK.c.answer.in_(answers)))
