"""`rag chat` at a terminal of its own and through a pipe, with a server that plays along and one that does not."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from support.scripted_server import Exchange, Script, cut, error, event, say, serving, stream
from support.small_set import write_golden

OVERRIDES = ("dataset=native", "dataset.path=golden", "embedder=hashing", "index=[bm25s]", "fusion=single", "k=2")
MODEL = ("generator=openai", "generator.model=m", "generator.runtime.retries=0", "queries=concatenate")
STEERING = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x07\r]")
SECONDS = 180
WAITED = 20
"""Seconds after which a prompt on the last line means that nothing else will come: the command waits for us."""
PROMPTED = "\n> "
COLUMNS = 160
LONG = stream(*(["on ", "and "] * 300), wait=0.05)


class Terminal:
    """A command that believes to be talked to by a person."""

    def __init__(self, *arguments: str) -> None:
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, COLUMNS, 0, 0))
        self.process = subprocess.Popen(
            [sys.executable, "-m", "rag", *arguments],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env={**os.environ, "TERM": "xterm", "OPENAI_API_KEY": "none"},
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(slave)
        self.screen = ""
        self.seen = 0

    def expect(self, text: str, seconds: float = SECONDS) -> str:
        """Everything that appeared since what was expected last, up to and with a text; it must come."""
        until = time.monotonic() + seconds
        while (place := self.screen.find(text, self.seen)) < 0:
            left = max(0.0, until - time.monotonic())
            came = self._hear(min(left, WAITED))
            idle = left <= WAITED or self.screen.endswith(PROMPTED)
            assert came or not idle, f"no {text!r} in {self.screen[self.seen :]!r}"
        found, self.seen = self.screen[self.seen : place + len(text)], place + len(text)
        return found

    def _hear(self, seconds: float) -> bool:
        """Whether something appeared meanwhile; a command that has gone fails the test."""
        if not select.select([self.master], [], [], seconds)[0]:
            return False
        try:
            data = os.read(self.master, 65536)
        except OSError:
            data = b""  # how Linux says that the other side has gone
        assert data, f"it has gone after {self.screen[self.seen :]!r}"
        self.screen += STEERING.sub("", data.decode("utf-8", "replace"))
        return True

    def type(self, text: str) -> None:
        """Write, and read what appears meanwhile: neither side waits for ever for the other to take its characters."""
        data, until = text.encode(), time.monotonic() + SECONDS
        while data:
            assert time.monotonic() < until, f"it does not read {len(data)} bytes"
            self._hear(0)
            if select.select([], [self.master], [], 0.1)[1]:
                data = data[os.write(self.master, data[:256]) :]

    def interrupt(self) -> None:
        """Ctrl-C at the prompt; again where it came between readline's looks at its signals, which then waits for a key."""
        for _ in range(20):
            self.type("\x03")
            with suppress(AssertionError):
                self.expect("> ", 3)
                return
        self.expect("> ", 0)

    def end(self) -> int:
        """Leave with Ctrl-D at the next prompt; the exit code."""
        self.expect("> ")
        self.type("\x04")
        return self.process.wait(SECONDS)


@pytest.fixture
def folder(here: Path) -> Path:
    write_golden(here / "golden")
    return here


@pytest.fixture
def opened(folder: Path) -> Iterator[list[Terminal]]:
    running: list[Terminal] = []
    yield running
    for terminal in running:
        if terminal.process.poll() is None:
            os.killpg(terminal.process.pid, signal.SIGKILL)
            terminal.process.wait()
        os.close(terminal.master)


def talk(opened: list[Terminal], script: Script, *more: str) -> Terminal:
    opened.append(Terminal("chat", *OVERRIDES, *MODEL, f"generator.base_url={script.url}", *more))
    opened[-1].expect("Ctrl-D leaves")
    opened[-1].expect("> ")
    return opened[-1]


def contents(script: Script, place: int) -> str:
    return "\n".join(message["content"] for message in script.asked[place]["messages"])


def test_a_conversation_outlives_whatever_befalls_a_turn(opened: list[Terminal]) -> None:
    steps = (say("It leaves at seven [1]."), say("Nine crowns [1]."), LONG, cut("Half ", "of "), error(401, "bad key"))
    with serving(*steps, say("You are welcome.")) as script:
        at = talk(opened, script, "check=none")
        at.type("When does the ferry to Holm leave?\n")
        at.expect("It leaves at seven [1].")
        at.expect(".md:0-")
        at.expect("> ")
        at.type("What does it cost?\n")
        at.expect("Nine crowns")
        at.expect("> ")
        assert "It leaves at seven." in contents(script, 1)

        at.type("Tell me more about that.\n")
        at.expect("on and on")
        at.type("\x03")
        at.expect("Dropped")
        at.expect("> ")

        at.type("And the bus?\n")
        at.expect("Half of")
        assert "→" in at.expect("→")
        at.expect("> ")
        at.type("And now?\n")
        at.expect("answered 401: bad key")
        at.expect("> ")

        at.type("Thanks!\n")
        at.expect("You are welcome.")
        at.expect("cites none of the")
        at.expect("> ")
        # What was dropped, by the person or by the server, is not in the conversation.
        last = contents(script, -1)
        assert "Nine crowns." in last
        assert "Tell me more" not in last
        assert "And the bus?" not in last

        at.type("/history\n")
        said = at.expect("You are welcome.")
        assert "It leaves at seven [1]." in said
        assert "Half of" not in said
        assert at.end() == 0


def test_chat_says_what_it_does_and_shows_sources_before_the_answer(opened: list[Terminal]) -> None:
    turns = [threading.Event() for _ in range(3)]

    def play(exchange: Exchange) -> None:
        for turn, piece in zip(turns, ("Kind: question\nFinal answer:", " It leaves ", "at seven [1]."), strict=True):
            assert turn.wait(SECONDS)
            stream(piece, ending=b"")(exchange) if piece.startswith("Kind") else exchange.wfile.write(event({"content": piece}))
            exchange.wfile.flush()
        exchange.wfile.write(event({}, "stop") + b"data: [DONE]\n\n")

    with serving(play) as script:
        at = talk(opened, script, "prompt=grounded_study")
        at.type("When does the ferry to Holm leave?\n")
        at.expect("searching …")
        at.expect("[1] winter.md:0-95  Winter", 30)
        at.expect("[2] ferry.md:0-100  Ferry", 5)
        at.expect("reading 2 passages …", 5)
        turns[0].set()
        at.expect("writing …", 20)
        turns[1].set()
        assert "Kind" not in at.expect("It ", 20)
        turns[2].set()
        at.expect("leaves at seven [1].", 20)
        assert at.end() == 0


def test_an_answer_that_is_begun_again_is_shown_as_it_ends(opened: list[Terminal]) -> None:
    twice = "Final answer: It leaves at six [1].\nNo.\nFinal answer: It leaves at seven [1]."
    with serving(say(twice)) as script:
        at = talk(opened, script, "prompt=grounded_study")
        at.type("When does the ferry leave?\n")
        at.expect("It leaves at six [1].")
        at.expect("This was a draft. The answer:")
        at.expect("It leaves at seven [1].")
        assert at.end() == 0


def test_commands_tell_what_there_is(opened: list[Terminal]) -> None:
    with serving(say("It leaves at seven [1].")) as script:
        at = talk(opened, script)
        at.type("\n   \n/sources\n")
        at.expect("nothing was answered yet")
        at.type("/sorces\n")
        at.expect("did you mean '/sources'?")
        at.type(f"When does the \x1b[31mferry leave, {'if I may ask ' * 20}please?\n")
        at.expect("at seven [1].")
        at.expect("> ")
        at.type("/sources\n")
        assert "cited" in at.expect("no ferry at all.")
        at.type("/why 1\n")
        at.expect("Searched for:")
        at.expect("bm25s #1")
        at.type("/why 7\n")
        at.expect("a number from 1 to 1")
        at.type("/config\n")
        at.expect("OpenAiGenerator")
        at.type("/save talk.md\n")
        at.expect("questions and answers: talk.md")
        at.type("/save talk.md\n")
        at.expect("is there already")
        at.expect("> ")
        at.type("/history\n")
        said = at.expect("at seven [1].")
        assert "please?" in said
        assert max(map(len, said.splitlines())) <= COLUMNS  # broken between words, not by the terminal
        at.type("/reset\n")
        at.expect("Forgotten.")
        at.type("/history\n")
        at.expect("Nothing was said yet.")
        at.type("/help\n")
        at.expect("Ctrl-C drops an answer")
        at.type("/quit\n")
        assert at.process.wait(SECONDS) == 0
    assert "at seven [1]." in Path("talk.md").read_text("utf-8")


def test_ctrl_c_at_the_prompt_drops_the_line(opened: list[Terminal]) -> None:
    with serving(say("Seven [1].")) as script:
        at = talk(opened, script, "check=none")
        at.type("never mind")
        at.expect("never mind")
        at.interrupt()
        at.type(f"When? {'very ' * 2000}long\n")
        at.expect("Seven [1].")
        assert at.end() == 0
        assert "never mind" not in contents(script, -1)
        assert "very " * 2000 in contents(script, -1)


def test_what_is_declined_without_a_model_brings_the_prompt_back(opened: list[Terminal]) -> None:
    with serving(say("Seven [1].")) as script:
        at = talk(opened, script)
        at.type("Thanks!\n")
        at.expect("This declines to answer.")
        at.expect("off_topic: ")
        at.expect("> ")
        assert script.asked == []
        at.type("When does the ferry leave?\n")
        at.expect("Seven [1].")
        assert at.end() == 0


def piped(lines: bytes, *overrides: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "rag", "chat", *OVERRIDES, *overrides]
    return subprocess.run(command, input=lines, capture_output=True, timeout=SECONDS, check=False)


def test_questions_come_through_a_pipe(folder: Path) -> None:
    done = piped("When does the ferry to Holm leave?\r\n\n/history\nCaf\ufffd \udc80?".encode("utf-8", "surrogateescape"))
    said = done.stdout.decode()
    assert done.returncode == 0
    assert said.startswith("> When does the ferry to Holm leave?\nThe ferry to Holm leaves at seven. [2]\n[2] ferry.md:0-")
    assert "No model answers here" not in said
    assert "1  When does the ferry" in said
    assert "> Caf\ufffd \ufffd?\nNo answer: nothing in the passages fits." in said
    assert b"\x1b" not in done.stdout + done.stderr


def test_a_pipe_is_told_by_the_exit_code_that_a_question_failed(folder: Path) -> None:
    twice = say("Final answer: Six [1].\nNo.\nFinal answer: Seven [1].")
    with serving(error(400, "no"), twice) as script:
        asked = b"When does it leave?\n/nothing\nAnd the ferry?\n"
        done = piped(asked, *MODEL, "prompt=grounded_study", f"generator.base_url={script.url}")
    assert done.returncode == 1
    assert b"answered 400: no" in done.stderr
    assert b"is no command" in done.stderr
    assert b"> And the ferry?\nSeven [1].\n[1] " in done.stdout  # the answer that --json holds, and no draft of it


@pytest.mark.parametrize(("overrides", "sought"), [((), "bus ticket cost winter"), (("queries=none",), "And in winter?")])
def test_follow_ups_are_searched_for_with_what_they_lean_on_unless_told_otherwise(
    folder: Path, overrides: tuple[str, ...], sought: str
) -> None:
    done = piped(b"What does a bus ticket cost?\nAnd in winter?\n/why\n", *overrides).stdout.decode()
    searched = done.partition("Searched for:")[2].partition("[1]")[0].lower()
    assert all(word in searched for word in sought.lower().split()), done
    assert ("ticket" in searched) == ("ticket" in sought)
