"""Tables of a server: sessions, answers, ratings.

Texts are stored as JSON in ASCII, because databases refuse some characters, such as NUL or half a surrogate pair.
"""

import json
from typing import Any

import sqlalchemy as sa


class JsonText(sa.types.TypeDecorator[Any]):
    """A JSON value, stored in ASCII."""

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: sa.Dialect) -> str:
        """The JSON text of a value."""
        return json.dumps(value)

    def process_result_value(self, value: str | None, dialect: sa.Dialect) -> Any:
        """The value of a JSON text."""
        return None if value is None else json.loads(value)


TABLES = sa.MetaData()
SESSIONS = sa.Table(
    "sessions",
    TABLES,
    sa.Column("id", sa.String(40), primary_key=True),
    sa.Column("owner", sa.Text, nullable=False),
    sa.Column("created", sa.Double, nullable=False),
    sa.Column("used", sa.Double, nullable=False, index=True),
    sa.Column("turns", sa.Integer, nullable=False),
)
ANSWERS = sa.Table(
    "answers",
    TABLES,
    sa.Column("id", sa.String(40), primary_key=True),
    sa.Column("owner", sa.Text, nullable=False),
    sa.Column("session", sa.ForeignKey("sessions.id", ondelete="CASCADE")),
    sa.Column("number", sa.Integer),
    sa.Column("seen", sa.Integer, nullable=False),
    sa.Column("question", JsonText, nullable=False),
    sa.Column("answer", JsonText, nullable=False),
    sa.Column("told", JsonText, nullable=False),
    sa.Column("at", sa.Double, nullable=False, index=True),
    sa.UniqueConstraint("session", "number"),
)
"""Answers that can be rated; those of a session are its turns, and are deleted with it."""
FOUND = sa.Table(
    "found",
    TABLES,
    sa.Column("answer", sa.ForeignKey("answers.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("bundle", sa.String(64), nullable=False),
    sa.Column("passages", JsonText, nullable=False),
)
"""What a session has found by an answer, where the bundle of that digest has a retrieval memory."""
FEEDBACK = sa.Table(
    "feedback",
    TABLES,
    sa.Column("answer", sa.String(40), primary_key=True),
    sa.Column("owner", sa.Text, nullable=False),
    sa.Column("rating", sa.Integer, nullable=False),
    sa.Column("comment", JsonText, nullable=False),
    sa.Column("history", JsonText, nullable=False),
    sa.Column("told", JsonText, nullable=False),
    sa.Column("at", sa.Double, nullable=False),
)
"""Ratings with a copy of the rated answer; they outlive the session until a person has reviewed them."""
