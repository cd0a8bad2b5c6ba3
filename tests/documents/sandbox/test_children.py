"""Parsers that misbehave lose their own file only, and reach nothing."""

import os
import resource
import socket
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from support.hostile_parsers import HostileParser

from rag.components.redactors.none import NoRedactor
from rag.core.errors import ConfigError
from rag.core.types import Block, Parsed
from rag.documents.reading import FileRead, Unreadable, read_files
from rag.documents.sandbox.children import Children, described
from rag.documents.sandbox.limits import Limits

LIMITS = Limits(seconds=1, longest=20)


def written(folder: Path, deeds: list[str]) -> Mapping[str, Path]:
    files = {f"{number:03}.bad": folder / f"{number:03}.bad" for number in range(len(deeds))}
    for path, deed in zip(files.values(), deeds, strict=True):
        path.write_text(deed)
    return files


def read(folder: Path, deeds: list[str], limits: Limits = LIMITS, workers: int = 1) -> list[FileRead]:
    return list(read_files(written(folder, deeds), {"bad": HostileParser("hi")}, NoRedactor(), workers, limits))


def line(file: FileRead) -> str:
    assert isinstance(file.content, Unreadable)
    return f"{file.content.reason}: {file.content.detail}"


def test_the_content_of_a_process_is_that_of_the_parser(tmp_path: Path) -> None:
    (file,) = read(tmp_path, ["say a\U0001f600b"])
    assert file.content == Parsed("hi a\U0001f600b file.bad", (Block("text", 0, 5, 1),), {"n": 1}, 1)
    assert (file.parser, file.size, file.is_stored) == ("HostileParser", 10, False)


DEEDS = {
    "loop": "over a limit: takes more than 1 seconds of CPU time",
    "fill": "over a limit: needs more than 512 MB of memory",
    "grow": "over a limit: needs more than 512 MB of memory (SIGABRT)",
    "talk": "over a limit: holds more than 64 MB of text and blocks",
    "refuse is sealed": "not readable: is sealed",
    "fault a\n\x1b[2Jb": "not readable: cannot be parsed: ValueError: a \ufffd[2Jb",
    "nest": "not readable: is nested too deeply",
    "segfault": "crashed its parser: ended the process of its parser (SIGSEGV",
    "exit": "crashed its parser: ended the process of its parser (exit code 3",
    "garbage {}": "crashed its parser: got no valid content from its parser: ",
    "garbage \xff": "crashed its parser: got no valid content from its parser: ",
    'garbage {"seconds": 1, "parsed": {"text": "a", "pages": 0, "blocks": {}}}': "crashed its parser: got no valid content ",
    "huge": "crashed its parser: got no valid content from its parser: an answer of 1099511627776 bytes",
}


def test_a_file_over_a_limit_is_lost_alone_and_its_line_names_the_limit(tmp_path: Path) -> None:
    deeds = [part for deed in DEEDS for part in (deed, "say on")]
    files = read(tmp_path, deeds)
    assert [file.name for file in files] == [f"{number:03}.bad" for number in range(len(deeds))]
    # The peak of a child is known only if it is above that of the process that runs the tests.
    known = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 400 << 10
    for deed, file in zip(deeds, files, strict=True):
        if deed == "say on":
            assert isinstance(file.content, Parsed)
        else:
            assert line(file).startswith(DEEDS[deed] if deed != "grow" or known else "crashed its parser")
            assert "\n" not in line(file)
            assert len(line(file)) < 240


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        yield server


def test_python_code_of_a_parser_reaches_no_network_no_program_and_no_other_file(
    tmp_path: Path, listening: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("API_KEY", "secret")
    (tmp_path / "private").write_text("secret")
    places = {"run": tmp_path / "ran", "write": tmp_path / "new", "read": tmp_path / "private"}
    deeds = [f"connect {listening.getsockname()[1]}", *(f"{deed} {path}" for deed, path in places.items()), "fork"]
    *refused, environment = read(tmp_path, [*deeds, "environment"])
    assert all("PermissionError: a parser may not" in line(file) for file in refused)
    assert isinstance(environment.content, Parsed)
    assert "API_KEY" not in environment.content.text
    with pytest.raises(BlockingIOError):
        listening.accept()
    assert {path.name for path in tmp_path.iterdir() if path.suffix != ".bad"} == {"private"}


@pytest.mark.skipif(sys.platform != "linux", reason="Landlock and namespaces are of Linux")
def test_machine_code_of_a_parser_reaches_none_of_them_either(tmp_path: Path, listening: socket.socket) -> None:
    (tmp_path / "private").write_text("secret")
    deeds = {
        f"connect_in_c {listening.getsockname()[1]}": "connect",
        f"write_in_c {tmp_path / 'new'}": "open",
        f"read_in_c {tmp_path / 'private'}": "open",
        f"remove_in_c {tmp_path / 'private'}": "unlink",
        f"run_in_c {tmp_path / 'ran'}": "exec",
    }
    for file, call in zip(read(tmp_path, [*deeds]), deeds.values(), strict=True):
        assert isinstance(file.content, Parsed)
        assert file.content.text == f"hi {call} -1 file.bad"
    with pytest.raises(BlockingIOError):
        listening.accept()
    assert {path.name for path in tmp_path.iterdir() if path.suffix != ".bad"} == {"private"}


def test_a_process_reads_many_files_and_is_replaced_after_a_crash(tmp_path: Path) -> None:
    files = read(tmp_path, ["pid", "pid", "segfault", "pid", "pid"])
    first, second, _, third, fourth = (getattr(file.content, "text", "") for file in files)
    assert first == second != third == fourth


def test_a_file_that_a_used_process_failed_on_gets_a_new_one(tmp_path: Path) -> None:
    with Children([HostileParser()], 1, LIMITS) as children:
        children.submit(HostileParser(), b"leak 400", "file.bad").result()
        answer = children.submit(HostileParser(), b"leak 200", "file.bad").result()
    assert isinstance(answer.content, Parsed)


def test_slow_and_fast_files_come_in_order_from_several_processes(tmp_path: Path) -> None:
    deeds = ["slow 0.4", "pid", "pid", "slow 0.2", *["pid"] * 8]
    files = read(tmp_path, deeds, workers=3)
    assert [file.name for file in files] == [f"{number:03}.bad" for number in range(len(deeds))]
    assert len({file.content.text for file in files if isinstance(file.content, Parsed)} - {"hi 0.4 file.bad"}) > 2


def test_a_server_thread_can_read_files(tmp_path: Path) -> None:
    found: list[FileRead] = []
    thread = threading.Thread(target=lambda: found.extend(read(tmp_path, ["pid", "say a", "segfault", "say b"], workers=2)))
    thread.start()
    thread.join(30)
    assert [type(file.content) for file in found] == [Parsed, Parsed, Unreadable, Parsed]


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_processes_end_when_reading_is_given_up(tmp_path: Path) -> None:
    reading = read_files(written(tmp_path, ["pid", "sleep", "sleep"]), {"bad": HostileParser("hi")}, NoRedactor(), 2, LIMITS)
    content = next(reading).content
    assert isinstance(content, Parsed)
    began = time.monotonic()
    reading.close()  # type: ignore[attr-defined]
    assert not alive(int(content.text.split()[1]))
    assert time.monotonic() - began < 5


def test_a_fault_of_the_config_ends_the_reading(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="needs a model"):
        read(tmp_path, ["config", "say a"])


class Forgetful:
    suffixes, in_process = ("bad",), False

    def __init__(self, depth: int) -> None:
        self.limit = depth

    def parse(self, data: bytes, name: str) -> Parsed:
        raise NotImplementedError


def test_a_parser_must_keep_its_parameters() -> None:
    with pytest.raises(ConfigError, match=r"does not keep its parameter 'depth'"):
        described(Forgetful(1))
    assert described(HostileParser("hi")) == {
        "target": "support.hostile_parsers.HostileParser",
        "parameters": {"greeting": "hi"},
    }


def test_a_file_larger_than_the_limit_is_not_read(tmp_path: Path) -> None:
    (file,) = read(tmp_path, ["say " + "a" * (1 << 20)], Limits(file=1 << 20))
    assert line(file) == "not readable: is larger than 1 MB"
