"""Sessions of a server in its database, so that any of several servers can continue one and a restart loses nothing.

Every session has an owner, and every query filters by it; sessions of other owners raise MissingError.
"""

import re
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import sqlalchemy as sa

from rag.core.redaction import redacted_json
from rag.core.types import Answer, Found, Query, Reply, Span, Turn
from rag.pipeline.conversation.live_history import remembered_turn
from rag.serve.database import Database, MissingError
from rag.serve.sql_tables import ANSWERS, FOUND, SESSIONS

RATEABLE = 1000
"""Answers outside of sessions that a purge keeps for each owner: about 8 MB."""

PORTION, PAUSE = 200, 0.01
"""Sessions that are deleted in one transaction, and the seconds between two: 10,000 in one took 2.6 s and blocked writers."""

SESSION = re.compile(r"ses_[0-9a-f]{32}")


def no_session() -> MissingError:
    """The error for a session that does not exist, has expired, or belongs to another owner."""
    return MissingError("session", "there is no such session, or it has expired", "leave `session` out to begin a new one")


@dataclass(frozen=True, slots=True)
class StoredTurn:
    """A question of a session and its answer, `at` seconds since 1970.

    `payload` is the answer as the server returned it; it is loaded only to show a session, and else empty. `found` is what it
    adds to what the session found with the bundle of that digest. A `pleasantry` is no context of later questions.
    """

    number: int
    question: str
    answer: str
    payload: Mapping[str, Any]
    at: float
    bundle: str = ""
    found: tuple[Found, ...] = ()
    pleasantry: bool = False

    @property
    def messages(self) -> tuple[Turn, ...]:
        """Question and answer as a later question reads them."""
        answer = Answer(Query("", self.question), (), Reply(self.answer))
        return () if self.pleasantry else remembered_turn(self.question, answer, self.at)


@dataclass(frozen=True, slots=True)
class StoredSession:
    """A session with its turns; times are in seconds since 1970, and it is deleted at `expires` unless it is used."""

    session: str
    created: float
    expires: float
    turns: tuple[StoredTurn, ...]


class Conversations:
    """The sessions of a server. A session expires when it was not used for `idle` seconds.

    All methods block on the database; ServiceError if it cannot be used, and then nothing has changed.
    """

    def __init__(self, url: str, idle: float = 1800, now: Callable[[], float] = time.time) -> None:
        self.database = Database(url)
        self.idle, self._now = idle, now

    def create(self, owner: str) -> str:
        """Begin a session and return its random id."""
        session, now = f"ses_{secrets.token_hex(16)}", self._now()
        with self.database.writing() as connection:
            row = {"id": session, "owner": owner, "created": now, "used": now, "turns": 0}
            connection.execute(sa.insert(SESSIONS), row)
        return session

    def turns(self, owner: str, session: str, last: int | None = None) -> list[StoredTurn]:
        """The last turns, oldest first; the session counts as used. MissingError if there is no such session.

        This writes, so that a database which is full or gone is noticed before a model is called.
        """
        with self.database.writing() as connection:
            used = sa.update(SESSIONS).where(self._alive(owner, session)).values(used=self._now())
            if not connection.execute(used).rowcount:
                raise no_session()
            return stored_turns(connection, session, sa.null(), last=last)

    def append(
        self,
        owner: str,
        session: str,
        question: str,
        answer: str,
        payload: Mapping[str, Any],
        seen: int | None = None,
        found: Sequence[Found] = (),
    ) -> int:
        """Store an answered question, without secrets, and return its number, from 1.

        MissingError if the session does not exist or has ended.

        Two questions at once get two numbers. `payload["id"]` is the id of the answer; `seen` is the number of the last turn
        that the question was answered after, by default the turn before it. `found` is what it adds to what the
        session found with the bundle of the payload.
        """
        now = self._now()
        counted = sa.update(SESSIONS).where(self._alive(owner, session)).values(used=now, turns=SESSIONS.c.turns + 1)
        with self.database.writing() as connection:
            number = connection.execute(counted.returning(SESSIONS.c.turns)).scalar_one_or_none()
            if number is None:
                raise no_session()
            row = {"id": payload["id"], "owner": owner, "session": session, "number": number, "at": now}
            row |= redacted_json({"question": question, "answer": answer, "told": payload})
            row["seen"] = number - 1 if seen is None else seen
            connection.execute(sa.insert(ANSWERS), row)
            if found:
                passages = redacted_json([asdict(each) for each in found])
                connection.execute(sa.insert(FOUND), {"answer": row["id"], "bundle": payload["bundle"], "passages": passages})
        return int(number)

    def show(self, owner: str, session: str) -> StoredSession:
        """A session with its turns, without prolonging it. MissingError if there is no such session."""
        with self.database.reading() as connection:
            row = connection.execute(sa.select(SESSIONS).where(self._alive(owner, session))).one_or_none()
            if row is None:
                raise no_session()
            turns = stored_turns(connection, session, ANSWERS.c.told)
            return StoredSession(session, row.created, row.used + self.idle, tuple(turns))

    def forget(self, owner: str, session: str) -> None:
        """Delete a session with its turns; MissingError if there is no such session."""
        with self.database.writing() as connection:
            if not connection.execute(sa.delete(SESSIONS).where(self._alive(owner, session))).rowcount:
                raise no_session()

    def purge(self) -> int:
        """Delete expired sessions, and answers outside of sessions beyond the newest RATEABLE of each owner.

        Returns the number of sessions.
        """
        expired, alone = self._now() - self.idle, ANSWERS.c.session.is_(None)
        place = sa.func.row_number().over(partition_by=ANSWERS.c.owner, order_by=(ANSWERS.c.at.desc(), ANSWERS.c.id))
        placed = sa.select(ANSWERS.c.id, place.label("place")).where(alone).subquery()
        many = ANSWERS.c.id.in_(sa.select(placed.c.id).where(placed.c.place > RATEABLE))
        with self.database.writing() as connection:
            connection.execute(sa.delete(ANSWERS).where(alone, sa.or_(ANSWERS.c.at <= expired, many)))
        oldest = sa.select(SESSIONS.c.id).where(SESSIONS.c.used <= expired).limit(PORTION)
        removed = gone = self._remove(oldest)
        while gone == PORTION:
            time.sleep(PAUSE)
            removed += (gone := self._remove(oldest))
        return removed

    def _remove(self, sessions: sa.Select[Any]) -> int:
        with self.database.writing() as connection:
            return connection.execute(sa.delete(SESSIONS).where(SESSIONS.c.id.in_(sessions))).rowcount

    def _alive(self, owner: str, session: str) -> sa.ColumnElement[bool]:
        """The condition for the owner's session of an id, if it has not expired; MissingError for a text that is not an id."""
        if not SESSION.fullmatch(session):
            # Some texts cannot be parameters of some databases.
            raise no_session()
        return sa.and_(SESSIONS.c.id == session, SESSIONS.c.owner == owner, SESSIONS.c.used > self._now() - self.idle)


def stored_turns(
    connection: sa.Connection, session: str, payload: sa.ColumnElement[Any], seen: int | None = None, last: int | None = None
) -> list[StoredTurn]:
    """The `last` turns of a session up to number `seen`, oldest first; `payload` is a column, or null to leave it out."""
    # Quotes inside of texts are escaped, so that no text of a user can match.
    pleasantry = sa.type_coerce(ANSWERS.c.told, sa.Text).contains('"input": "pleasantry"').label("pleasantry")
    columns = (ANSWERS.c.number, ANSWERS.c.question, ANSWERS.c.answer, payload.label("told"), ANSWERS.c.at, pleasantry)
    joined = sa.select(*columns, FOUND.c.bundle, FOUND.c.passages).outerjoin(FOUND, FOUND.c.answer == ANSWERS.c.id)
    newest = joined.where(ANSWERS.c.session == session).order_by(ANSWERS.c.number.desc()).limit(last)
    if seen is not None:
        newest = newest.where(ANSWERS.c.number <= seen)
    rows = connection.execute(newest).all()
    return [_turn(row) for row in reversed(rows)]


def _turn(row: "sa.Row[Any]") -> StoredTurn:
    told, found = row.told or {}, _found(row.passages or [])
    return StoredTurn(row.number, row.question, row.answer, told, row.at, row.bundle or "", found, bool(row.pleasantry))


def _found(passages: Sequence[Mapping[str, Any]]) -> tuple[Found, ...]:
    rows = ((one["question"], ((Span(**span), *others) for span, *others in one["hits"])) for one in passages)
    return tuple(Found(question, tuple(hits)) for question, hits in rows)
