"""A database that is full, gone or killed: a clear 503, no partial turn, and recovery when it is back."""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
import sqlalchemy as sa
from support.databases import file_url
from support.servers import Server, running

from rag.serve import database

LONG = "When does the ferry to Holm leave? " + "And tell me why. " * 400
"""It needs more room than a page has left."""


@pytest.fixture
def app(conversing_bundle: Path, url: str) -> Iterator[Server]:
    with running([conversing_bundle], url, ["ann"]) as found:
        yield found


@pytest.fixture
def client(app: Server) -> Iterator[httpx.Client]:
    with app.as_owner("ann") as found:
        yield found


@contextmanager
def full_sqlite(server: Server) -> Iterator[None]:
    """SQLite at its limit of pages."""
    engine = server.conversations.database._engine

    def limited(connection: Any, *_: object) -> None:
        connection.execute("PRAGMA max_page_count=1")

    sa.event.listen(engine, "checkout", limited)
    yield
    sa.event.remove(engine, "checkout", limited)
    engine.dispose()


@contextmanager
def full_postgres(url: str) -> Iterator[None]:
    """A table without room for another row, with the error of a full disk."""
    full = "RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE FUNCTION full_() RETURNS trigger AS $$ BEGIN {full}; END $$ LANGUAGE plpgsql")
        connection.execute("CREATE TRIGGER full_ BEFORE INSERT ON answers FOR EACH ROW EXECUTE FUNCTION full_()")
        yield
        connection.execute("DROP TRIGGER full_ ON answers")


@contextmanager
def moved(path: Path) -> Iterator[None]:
    """The files of a database are elsewhere inside the block."""
    away = path.with_name("away")
    away.mkdir()
    for file in path.parent.glob("serve.db*"):
        shutil.move(file, away / file.name)
    yield
    for file in away.iterdir():
        shutil.move(file, path.parent / file.name)
    away.rmdir()


def asked(client: httpx.Client, question: str = "When does the bus leave?", **more: Any) -> httpx.Response:
    return client.post("/chat", json={"question": question, **more})


def refused(response: httpx.Response, words: str) -> None:
    """The response is a problem with a remedy, without hosts and files."""
    assert (response.status_code, response.headers["content-type"]) == (503, "application/problem+json")
    problem = response.json()
    assert words in problem["detail"]
    assert "later" in problem["remedy"]
    assert "/" not in problem["detail"].replace("read or written", "")


def questions(client: httpx.Client, session: str) -> list[tuple[int, str]]:
    turns = client.get(f"/sessions/{session}").json()["turns"]
    return [(turn["turn"], turn["question"]) for turn in turns]


def test_a_turn_without_room_is_not_stored_in_part(url: str, app: Server, client: httpx.Client) -> None:
    session, words = asked(client, "first").json()["session"], "has no room left"
    with full_sqlite(app) if url.startswith("sqlite") else full_postgres(url):
        refused(asked(client, LONG, session=session), words)
        streamed = asked(client, LONG, session=session, stream=True)
        assert streamed.status_code in (200, 503)
        assert "event: answer" not in streamed.text
        assert words in streamed.text
        # An answer outside of sessions needs no room, and stored turns can be read.
        assert client.post("/ask", json={"question": "When does the bus leave?"}).status_code == 200
        assert questions(client, session) == [(1, "first")]
    assert asked(client, "second", session=session).json()["turn"] == 2
    assert questions(client, session) == [(1, "first"), (2, "second")]


def down(client: httpx.Client, session: str) -> None:
    """Every request that needs the database is refused; all others work."""
    path, rating = f"/sessions/{session}", {"answer": "ans_" + "0" * 24, "rating": 1}
    needing = (asked(client), asked(client, session=session), client.get(path), client.delete(path))
    for response in (*needing, client.post("/feedback", json=rating)):
        refused(response, "cannot be read or written now")
    assert client.get("/readyz").status_code == 503
    assert client.get("/healthz").status_code == 200
    for path in ("/search", "/ask"):
        assert client.post(path, json={"question": "When does the bus leave?"}).status_code == 200


def test_a_database_that_was_killed_comes_back(
    request: pytest.FixtureRequest, url: str, client: httpx.Client, tmp_path: Path
) -> None:
    session = asked(client, "first").json()["session"]
    if url.startswith("sqlite"):
        with moved(tmp_path / "serve.db"):
            down(client, session)
    else:
        server = request.getfixturevalue("database_server")
        server.crash()
        down(client, session)
        server.start()
    assert client.get("/readyz").status_code == 200
    assert asked(client, "second", session=session).json()["turn"] == 2
    assert questions(client, session) == [(1, "first"), (2, "second")]


def test_a_locked_database_is_waited_for_and_then_reported(
    conversing_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "PATIENCE", 0.1)
    with running([conversing_bundle], file_url(tmp_path), ["ann"]) as app, app.as_owner("ann") as client:
        session = asked(client, "first").json()["session"]
        holder = sqlite3.connect(tmp_path / "serve.db", isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")
        refused(asked(client, session=session), "cannot be read or written now")
        assert questions(client, session) == [(1, "first")]
        holder.execute("ROLLBACK")
        holder.close()
        assert asked(client, "second", session=session).json()["turn"] == 2
