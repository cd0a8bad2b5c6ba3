"""Real programs as models: what they get, and what happens when they misbehave."""

import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from rag.core.errors import ConfigError, RefusalError, ServiceError
from rag.core.types import Chunk, Message, Query, Request, Span
from rag.plugins.command.generators.command import CommandGenerator

SECRET = "sk-USERSECRETKEY0001"
HOSTILE = '"; touch x; $(touch x) `touch x`\n--help\n\x00 \ud800 é'
TELLS = """import json, os, sys
told = {"argv": sys.argv[1:], "env": dict(os.environ), "files": os.listdir(), "leads": os.getsid(0) == os.getpid()}
print("<think>Is it?</think>", json.dumps({**told, "prompt": sys.stdin.buffer.read().decode()}), "[1] [9]")"""
CHILDREN = """import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if len(sys.argv) < 3:
    subprocess.Popen([*sys.orig_argv, "child"])
for _ in range(300):
    open(sys.argv[1], "a").write("."), time.sleep(0.01)"""
FAILS = "import os; raise SystemExit('first\\n\x1b[2Jkey ' + os.environ['OWN_API_KEY'])"


@pytest.fixture(autouse=True)
def variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OWN_API_KEY"):
        monkeypatch.setenv(name, SECRET)
    monkeypatch.setenv("RAG_COMMAND_ENV", "OWN_API_KEY, ABSENT")


def asked(monkeypatch: pytest.MonkeyPatch, code: str, *more: str, content: str = "Who?", **changes: Any) -> Any:
    monkeypatch.setenv("RAG_COMMAND", json.dumps([sys.executable, "-I", "-c", code, *more]))
    request = Request(Query("q", "Who?"), (Chunk(Span("d", 0, 3), "Ada"),), (Message("system", "S"), Message("user", content)))
    values: dict[str, Any] = {"model": "m", "timeout": 20, **changes}
    return CommandGenerator(**values).generate([request])[0]


def test_a_prompt_is_data_and_the_program_gets_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    reply = asked(monkeypatch, TELLS, "--fixed", content=HOSTILE)
    told = json.loads(reply.text.removesuffix("[1] [9]"))
    assert (told["prompt"], told["argv"]) == (f"S\n\n{HOSTILE.replace(chr(0xD800), '?')}", ["--fixed"])
    assert told["env"].pop("OWN_API_KEY") == SECRET
    assert set(told["env"]) <= {"PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR"}
    assert (told["files"], told["leads"]) == ([], True)
    assert (reply.thoughts, reply.citations, reply.cost != reply.cost) == ("<think>Is it?</think>", (1,), True)


BAD = [
    ("import time; time.sleep(60)", {"timeout": 0.5}, "gave no answer within 0.5 s"),
    ("while True: print('x' * 9999)", {}, "wrote more than 200,000 bytes"),
    ("import sys\nwhile True: sys.stderr.write('x' * 9999)", {"timeout": 0.5}, "gave no answer"),
    ("import os; os.kill(os.getpid(), 11)", {}, "ended with signal SIGSEGV and said nothing"),
    (FAILS, {"content": "x" * 5_000_000}, r"ended with exit status 1 and said \[2Jkey .redacted"),
]


@pytest.mark.parametrize(("code", "changes", "what"), BAD)
def test_a_program_that_fails_is_one_line(monkeypatch: pytest.MonkeyPatch, code: str, changes: Any, what: str) -> None:
    began = time.monotonic()
    with pytest.raises(ServiceError, match=what) as error:
        asked(monkeypatch, code, **changes)
    assert time.monotonic() - began < 10
    assert SECRET not in str(error.value)


@pytest.mark.parametrize("ends", ["hangs", "leaves", "escapes"])
def test_no_child_of_a_program_outlives_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ends: str) -> None:
    """All ignore SIGTERM. A program that leaves its child behind has answered; a child in another session is not waited for."""
    file, code, began = tmp_path / "alive", CHILDREN, time.monotonic()
    if ends == "escapes":
        code = code.replace('"child"]', '"child"], start_new_session=True')
    if ends == "hangs":
        with pytest.raises(ServiceError, match="gave no answer"):
            asked(monkeypatch, code, str(file), timeout=0.8)
    else:
        code = code.replace("for _", "    print('Ada', flush=True), time.sleep(0.5), os._exit(0)\nfor _")
        assert asked(monkeypatch, code, str(file)).text == "Ada"
    assert time.monotonic() - began < 2.5
    size = file.stat().st_size
    time.sleep(0.2)
    assert file.stat().st_size > 0
    assert (file.stat().st_size == size) == (ends != "escapes")


def test_bytes_that_are_no_text_are_replaced_and_no_answer_fails_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    assert asked(monkeypatch, "import os; os.write(1, b' A\\xff\\xc3 \\n')").text == "A\ufffd\ufffd"
    assert "empty answer" in asked(monkeypatch, "print(' ')").failure
    with pytest.raises(RefusalError):
        list(CommandGenerator("m").stream(Request(Query("q", ""), (), ())))


COMMANDS = ["", "cat", "[]", "[1]", '["./cat"]', '["a\\u0000"]', '[""]', f'["cat", "--key={SECRET}"]', '["/no/such/program"]']


@pytest.mark.parametrize("value", COMMANDS)
def test_the_program_is_a_fixed_list_of_the_user(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("RAG_COMMAND", value)
    with pytest.raises((ConfigError, ServiceError), match="RAG_COMMAND"):
        CommandGenerator("m").generate([Request(Query("q", ""), (), ())])
    monkeypatch.setenv("RAG_COMMAND", '["cat", "-u"]')
    assert CommandGenerator("m 1.2").fingerprint() == 'm 1.2@["cat", "-u"]'
