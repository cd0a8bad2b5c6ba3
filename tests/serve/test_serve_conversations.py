"""Sessions in SQLite and PostgreSQL: appended turns stay until the session expires, also with several writers."""

import os
import signal
import stat
import subprocess
import sys
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from support.small_server import ManualClock

from rag.core.errors import ConfigError, ServiceError
from rag.core.types import Found, Span, Turn
from rag.serve import conversations
from rag.serve.conversations import Conversations
from rag.serve.database import MissingError
from rag.serve.feedback import answer_id

ODD = ["NUL \0", "half a pair \ud800", "'; DROP TABLE sessions; --", "𝒶 e\u0301 \u202e", "", "x" * 100_000]


def say(talks: Conversations, owner: str, session: str, question: str, answer: str = "so", **more: Any) -> int:
    payload = {"id": answer_id(), "question": question, "answer": answer}
    return talks.append(owner, session, question, answer, payload, **more)


def test_a_session_stores_its_turns_in_order(talks: Conversations, clock: ManualClock) -> None:
    session = talks.create("ann")
    assert talks.turns("ann", session) == []
    clock.now += 5
    assert [say(talks, "ann", session, f"question {n}", f"answer {n} [1]") for n in range(1, 4)] == [1, 2, 3]
    kept = talks.turns("ann", session)
    assert [(one.number, one.question, one.answer, one.at) for one in kept] == [
        (n, f"question {n}", f"answer {n} [1]", clock.now) for n in range(1, 4)
    ]
    assert [one.number for one in talks.turns("ann", session, 2)] == [2, 3]
    assert kept[0].messages == (Turn("user", "question 1"), Turn("assistant", "answer 1"))
    assert kept[0].payload == {}
    assert [one.payload["question"] for one in talks.show("ann", session).turns] == ["question 1", "question 2", "question 3"]


def test_any_text_is_stored_unchanged(talks: Conversations) -> None:
    session = talks.create("ann")
    for text in ODD:
        say(talks, "ann", session, text, text)
    kept = talks.show("ann", session).turns
    assert [(one.question, one.answer, one.payload["answer"]) for one in kept] == [(text, text, text) for text in ODD]


def test_an_invalid_id_is_not_a_session(talks: Conversations) -> None:
    for name in (*ODD, "ses_", "ses_" + "0" * 32, "ses_" + "0" * 32 + "\n", "SES_" + "0" * 32):
        for use in (talks.turns, talks.show, talks.forget, lambda owner, one: say(talks, owner, one, "?")):
            with pytest.raises(MissingError, match="no such session"):
                use("ann", name)


def test_a_session_lives_as_long_as_it_is_used(talks: Conversations, clock: ManualClock) -> None:
    session = talks.create("ann")
    clock.now += 1799
    talks.turns("ann", session)
    clock.now += 1799
    say(talks, "ann", session, "still here?")
    clock.now += 1799
    shown = talks.show("ann", session)
    assert shown.expires == clock.now + 1
    clock.now += 1
    # Looking did not prolong it.
    for use in (talks.turns, talks.show, talks.forget):
        with pytest.raises(MissingError):
            use("ann", session)
    with pytest.raises(MissingError):
        say(talks, "ann", session, "too late")


def test_a_purge_deletes_expired_sessions_only(
    talks: Conversations, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversations, "PORTION", 1)
    old, _ = talks.create("ann"), talks.create("ann")
    say(talks, "ann", old, "old")
    clock.now += 1000
    young = talks.create("ann")
    say(talks, "ann", young, "young")
    assert talks.purge() == 0
    clock.now += 800
    assert (talks.purge(), talks.purge()) == (2, 0)
    assert [one.question for one in talks.show("ann", young).turns] == ["young"]
    clock.now -= 800
    # A session that was only hidden would be back.
    with pytest.raises(MissingError):
        talks.show("ann", old)


def test_a_forgotten_session_leaves_no_bytes(talks: Conversations, url: str, tmp_path: Path) -> None:
    session = talks.create("ann")
    say(talks, "ann", session, "a secret that must be gone")
    talks.forget("ann", session)
    with pytest.raises(MissingError):
        talks.show("ann", session)
    talks.database.close()
    if url.startswith("sqlite"):
        assert b"that must be gone" not in b"".join(path.read_bytes() for path in tmp_path.glob("serve.db*"))


def test_no_turn_is_lost_with_two_servers(talks: Conversations, url: str, clock: ManualClock) -> None:
    servers = [talks, Conversations(url, 1800, clock)]
    session = servers[0].create("ann")
    questions = [f"question {n}" for n in range(60)]
    with ThreadPoolExecutor(8) as threads:
        numbers = list(threads.map(lambda n: say(servers[n % 2], "ann", session, questions[n]), range(60)))
    assert sorted(numbers) == list(range(1, 61))
    kept = servers[1].turns("ann", session)
    servers[1].database.close()
    assert {one.number: one.question for one in kept} == dict(zip(numbers, questions, strict=True))


def test_servers_that_start_together_create_tables_once(url: str) -> None:
    with ThreadPoolExecutor(6) as threads:
        found = list(threads.map(lambda _: Conversations(url), range(6)))
    session = found[0].create("ann")
    for one in found:
        say(one, "ann", session, "?")
        one.database.close()


WRITER = """
import sys
from rag.serve.conversations import Conversations
from rag.serve.feedback import answer_id
talks = Conversations(sys.argv[1])
session = talks.create("ann")
print(session, flush=True)
while True:
    print(talks.append("ann", session, "q", "a", {"id": answer_id()}), flush=True)
"""


def test_a_killed_server_loses_no_confirmed_turn(url: str) -> None:
    with subprocess.Popen([sys.executable, "-c", WRITER, url], stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout
        session = writer.stdout.readline().strip()
        confirmed = [int(writer.stdout.readline()) for _ in range(20)]
        os.kill(writer.pid, signal.SIGKILL)
        confirmed += [int(line) for line in writer.stdout.read().split("\n")[:-1]]
    talks = Conversations(url)
    kept = [one.number for one in talks.turns("ann", session)]
    # The last turn may be stored without having been confirmed.
    assert kept[: len(confirmed)] == confirmed == list(range(1, len(confirmed) + 1))
    assert len(kept) <= len(confirmed) + 1
    assert say(talks, "ann", session, "and on") == len(kept) + 1
    talks.database.close()


def test_no_error_repeats_a_text(talks: Conversations, caplog: pytest.LogCaptureFixture) -> None:
    session, words = talks.create("ann"), str(12345**3)
    with talks.database.writing() as connection:
        connection.exec_driver_sql("DROP TABLE found")
        connection.exec_driver_sql("DROP TABLE answers")
    with pytest.raises(ServiceError) as caught:
        say(talks, "ann", session, words, words)
    assert words not in "".join(traceback.format_exception(caught.value)) + caplog.text
    assert "answers" in caplog.text


def test_only_the_owner_may_read_the_files(tmp_path: Path) -> None:
    talks = Conversations(f"sqlite:///{tmp_path}/below/one/serve.db")
    talks.create("ann")
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "below" / "one").iterdir()}
    talks.database.close()
    assert modes == {0o600}


@pytest.mark.parametrize(
    ("url", "what"),
    [
        ("sqlite://", "is not a file"),
        ("sqlite:///:memory:", "is not a file"),
        ("sqlite:///file:x?mode=memory", "is not a file"),
        ("mysql://localhost/x", "is a database of 'mysql'"),
        ("serve.db", "is not the URL"),
        ("", "is not the URL"),
        ("postgresql://u:secret@host:notaport/x", "is not the URL"),
    ],
)
def test_an_invalid_url_is_refused(url: str, what: str) -> None:
    with pytest.raises(ConfigError, match=what) as caught:
        Conversations(url)
    assert "secret" not in str(caught.value)


def test_a_missing_database_is_reported_without_its_password(tmp_path: Path) -> None:
    with pytest.raises(ServiceError, match="cannot be opened") as caught:
        Conversations(f"postgresql://ann:secret@/x?host={tmp_path}")
    assert "secret" not in str(caught.value)
    (tmp_path / "file").touch()
    with pytest.raises(ServiceError, match="cannot be written"):
        Conversations(f"sqlite:///{tmp_path}/file/serve.db")
    (tmp_path / "text.db").write_text("not a database at all, but long enough to be one " * 30)
    with pytest.raises(ServiceError, match="cannot be opened"):
        Conversations(f"sqlite:///{tmp_path}/text.db")


def test_what_a_session_found_is_kept_with_its_bundle_and_for_its_owner(tmp_path: Path) -> None:
    conversations = Conversations(f"sqlite:///{tmp_path / 'serve.db'}")
    session = conversations.create("ann")
    found = Found("When?", ((Span("a.md", 0, 9), 0.5, 1, False), (Span("a.md", 9, 12), 0.5, 1, True)))
    for number, kept in enumerate(((found,), ()), 1):
        payload = {"id": f"ans_{number}", "bundle": "ab" * 32}
        conversations.append("ann", session, "When?", "Now.", payload, found=kept)
    first, second = conversations.turns("ann", session)
    assert (first.bundle, first.found) == ("ab" * 32, (found,))
    assert (second.bundle, second.found) == ("", ())
    with pytest.raises(MissingError):
        conversations.turns("bob", session)
    conversations.forget("ann", session)
    conversations.database.close()
