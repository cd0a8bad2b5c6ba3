"""Conversations with a server: who holds one, what was said in it, when it is forgotten.

No request leaves anything in the server: a session is rows in a database, so that any of several servers can go on with it and
a restart loses nothing. It belongs to the owner of the key that it was begun with; to all others it does not exist.
"""

import re
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from rag.core.records import Answer, Query, Reply, Turn
from rag.pipeline.live_history import remembered_turn
from rag.serve.database import Database, MissingError
from rag.serve.sql_tables import ANSWERS, SESSIONS

RATEABLE = 1000
"""Answers outside of sessions that are kept for each owner: some 8 MB, and those of the minute before the next purge."""

PORTION, PAUSE = 200, 0.01
"""How many sessions are removed at once, and the seconds after it in which others write: 10,000 at once took 2.6 s."""

SESSION = re.compile(r"ses_[0-9a-f]{32}")


class NoSessionError(MissingError):
    """There is no such session, or no longer, or it is somebody else's."""

    def __init__(self) -> None:
        super().__init__("session", "there is no such session, or it has expired", "leave `session` out to begin a new one")

    def __reduce__(self) -> tuple[type, tuple[()]]:
        return type(self), ()


@dataclass(frozen=True, slots=True)
class Kept:
    """A question of a session and its answer, `at` seconds since 1970.

    `told` is all that the server said of it; it is left empty where a session is only gone on with.
    """

    number: int
    question: str
    answer: str
    told: Mapping[str, Any]
    at: float

    @property
    def turns(self) -> tuple[Turn, Turn]:
        """The two as a later question sees them."""
        return remembered_turn(self.question, Answer(Query("", self.question), (), Reply(self.answer)))


@dataclass(frozen=True, slots=True)
class Shown:
    """A session as its owner may see it; times in seconds since 1970, it is forgotten at `expires` unless it is used."""

    session: str
    created: float
    expires: float
    turns: tuple[Kept, ...]


class Conversations:
    """The sessions of a server. A session that nobody used for `idle` seconds is gone.

    All methods wait for the database; ServiceError where it cannot be used, and then nothing has been changed.
    """

    def __init__(self, url: str, idle: float = 1800, now: Callable[[], float] = time.time) -> None:
        self.database = Database(url)
        self.idle, self._now = idle, now

    def create(self, owner: str) -> str:
        """Begin a session; its id, which cannot be guessed."""
        session, now = f"ses_{secrets.token_hex(16)}", self._now()
        with self.database.writing() as connection:
            row = {"id": session, "owner": owner, "created": now, "used": now, "turns": 0}
            connection.execute(sa.insert(SESSIONS), row)
        return session

    def turns(self, owner: str, session: str, last: int | None = None) -> list[Kept]:
        """What was said, oldest first, of which the last so many; the session counts as used. NoSessionError where it is not.

        It writes, so that a database which is full or gone is met before a model has been asked.
        """
        with self.database.writing() as connection:
            used = sa.update(SESSIONS).where(self._alive(owner, session)).values(used=self._now())
            if not connection.execute(used).rowcount:
                raise NoSessionError
            return stored_turns(connection, session, sa.null(), last=last)

    def append(
        self, owner: str, session: str, question: str, answer: str, told: Mapping[str, Any], seen: int | None = None
    ) -> int:
        """Keep an answered question; its number, from 1. NoSessionError where there is no session (any more).

        Two at once get two numbers. `told["id"]` is what the answer is rated by; `seen` the number of the last turn that the
        question was answered after, by default the one before its own.
        """
        now = self._now()
        counted = sa.update(SESSIONS).where(self._alive(owner, session)).values(used=now, turns=SESSIONS.c.turns + 1)
        with self.database.writing() as connection:
            number = connection.execute(counted.returning(SESSIONS.c.turns)).scalar_one_or_none()
            if number is None:
                raise NoSessionError
            row = {"id": told["id"], "owner": owner, "session": session, "number": number, "at": now, "told": dict(told)}
            row |= {"question": question, "answer": answer, "seen": number - 1 if seen is None else seen}
            connection.execute(sa.insert(ANSWERS), row)
        return int(number)

    def show(self, owner: str, session: str) -> Shown:
        """All of a session; NoSessionError where there is none. Looking does not prolong it."""
        with self.database.reading() as connection:
            found = connection.execute(sa.select(SESSIONS).where(self._alive(owner, session))).one_or_none()
            if found is None:
                raise NoSessionError
            turns = stored_turns(connection, session, ANSWERS.c.told)
            return Shown(session, found.created, found.used + self.idle, tuple(turns))

    def forget(self, owner: str, session: str) -> None:
        """End a session and remove all that was said in it; NoSessionError where there is none."""
        with self.database.writing() as connection:
            if not connection.execute(sa.delete(SESSIONS).where(self._alive(owner, session))).rowcount:
                raise NoSessionError

    def purge(self) -> int:
        """Remove what has expired, and answers outside of sessions that are as old; how many sessions that were.

        Of the latter the newest RATEABLE of each owner stay.
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

    def ready(self) -> None:
        """ServiceError unless the database can be read."""
        self.database.ready()

    def close(self) -> None:
        """Let go of the database."""
        self.database.close()

    def _alive(self, owner: str, session: str) -> sa.ColumnElement[bool]:
        """The session of that id, if it is the owner's and has not expired."""
        if not SESSION.fullmatch(session):
            # Not every text can be a parameter of every database.
            raise NoSessionError
        return sa.and_(SESSIONS.c.id == session, SESSIONS.c.owner == owner, SESSIONS.c.used > self._now() - self.idle)


def stored_turns(
    connection: sa.Connection, session: str, told: sa.ColumnElement[Any], seen: int | None = None, last: int | None = None
) -> list[Kept]:
    """The turns of a session up to number `seen`, and the last so many of them, oldest first."""
    columns = (ANSWERS.c.number, ANSWERS.c.question, ANSWERS.c.answer, told.label("told"), ANSWERS.c.at)
    newest = sa.select(*columns).where(ANSWERS.c.session == session).order_by(ANSWERS.c.number.desc()).limit(last)
    if seen is not None:
        newest = newest.where(ANSWERS.c.number <= seen)
    rows = connection.execute(newest).all()
    return [Kept(row.number, row.question, row.answer, row.told or {}, row.at) for row in reversed(rows)]
