"""What a server keeps: sessions, answers, ratings.

Texts are stored as JSON in ASCII: a question may hold characters that a database refuses, such as NUL or half a surrogate pair.
"""

import json
from typing import Any

import sqlalchemy as sa


class JsonText(sa.types.TypeDecorator[Any]):
    """Any JSON value, in characters that every database takes."""

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: sa.Dialect) -> str:
        """As it is stored."""
        return json.dumps(value)

    def process_result_value(self, value: str | None, dialect: sa.Dialect) -> Any:
        """As it was given."""
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
"""Answers that can be rated; those of a session are its turns, and go with it."""
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
"""Ratings with a copy of what was rated: they outlive the session, until somebody has reviewed them."""
