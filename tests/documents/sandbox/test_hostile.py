"""Hostile and damaged files: each is lost alone, with one line; nothing is run, fetched or written."""

import os
import signal
import socket
import subprocess
import sys
import time
import unicodedata
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from support.choices import build, choices
from support.corpora import text_folder
from support.hostile_files import add_odd_entries, hostile, mutated

from rag.components.redactors.none import NoRedactor
from rag.core.roles import Parser
from rag.core.types import Parsed
from rag.documents.reading import FileRead, Unreadable, read_files
from rag.documents.sandbox.limits import Limits

REFUSED = {
    *("page_tree_loop.pdf", "billion_pages.pdf", "stream_bomb.pdf", "encrypted.pdf", "header_only.pdf"),
    *("really_html.pdf", "really_zip.pdf", "flat_bomb.docx", "lying_bomb.docx", "nested_bomb.docx"),
    *("shared_entries.xlsx", "encrypted_entries.docx", "encrypted.docx", "truncated.docx"),
    *("truncated.pptx", "truncated.xlsx", "entity_bomb.docx", "quadratic.docx", "deep.docx", "deep_tables.docx"),
    *("program.xlsx", "really_pdf.docx", "not_a_deck.pptx", "million_rows.csv", "packed.csv", "nul.csv", "deep.json"),
    *("deep_objects.json", "digits.json", "not_utf8.jsonl", "aliases.yml", "tags.yml", "deep.yml", "latin.md", "two_bytes.txt"),
}
"""Files of which nothing may be taken for text."""
READ = {"script.pdf": "hello", "launch.pdf": "hello", "remote.pdf": "hello", "remote.html": "hello", "macro.docx": "Leave"}
"""Files whose words are read, and nothing else."""


def suffix(name: str) -> str:
    return name.rpartition(".")[2]


def parsers() -> list[dict[str, Parser]]:
    """All parsers by suffix; where a suffix has several, one dictionary for each turn."""
    turns: list[dict[str, Parser]] = []
    for choice in choices("parser"):
        parser: Parser = build("parser", choice)
        for each in parser.suffixes:
            turn = next((turn for turn in turns if each not in turn), None)
            if turn is None:
                turns.append(turn := {})
            turn[each] = parser
    return turns


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """An address at which nothing may arrive, while the working folder stays empty."""
    (here := tmp_path / "here").mkdir()
    monkeypatch.chdir(here)
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        yield f"http://127.0.0.1:{server.getsockname()[1]}/x"
        with pytest.raises(BlockingIOError):
            server.accept()
    assert not list(here.iterdir())
    assert not Path("/tmp/owned.xml").exists()


def read(folder: Path, files: Iterable[tuple[str, bytes]], limits: Limits) -> Iterator[FileRead]:
    """Every file by every parser of its suffix; each gives one result in order, with one line if it is not read."""
    (place := folder / "files").mkdir()
    names = []
    for name, data in files:
        (place / name).write_bytes(data)
        names.append(name)
    for turn in parsers():
        wanted = {name: place / name for name in names if suffix(name) in turn}
        found = list(read_files(wanted, turn, NoRedactor(), limits=limits))
        assert [file.name for file in found] == list(wanted)
        for file in found:
            if isinstance(file.content, Unreadable):
                line = f"{file.content.reason}: {file.content.detail}"
                assert file.content.detail.strip()
                assert len(line) < 240
                assert line.isprintable(), line
            assert file.seconds < limits.seconds + limits.longest
        yield from found


def check_hostile(files: Iterable[FileRead]) -> None:
    for file in files:
        if file.name in READ and file.content != Parsed(""):
            assert isinstance(file.content, Parsed), (file.name, file.parser, file.content)
            assert READ[file.name] in file.content.text
        if file.name in REFUSED:
            assert isinstance(file.content, Unreadable), (file.name, file.parser)
        if isinstance(file.content, Parsed):
            assert "root:" not in file.content.text  # of /etc/passwd


def test_hostile_files_are_lost_alone_with_one_line(tmp_path: Path, url: str) -> None:
    check_hostile(read(tmp_path, hostile(url), Limits(seconds=1, longest=60)))


def test_damaged_files_are_read_or_refused(tmp_path: Path, url: str) -> None:
    assert url
    assert len(list(read(tmp_path, mutated(100), Limits(seconds=5)))) >= 100


def test_what_is_no_plain_file_is_named_and_the_others_are_read(tmp_path: Path) -> None:
    (tmp_path / "outside.md").write_text("secret")
    (folder := tmp_path / "f").mkdir()
    add_odd_entries(folder, tmp_path / "outside.md")
    loader = text_folder(str(folder), ["**/*.md", "**/*.txt", "**/*.pdf", "**/*.docx"])
    texts = {document.doc_id: document.text for document in loader.load()}
    assert texts == dict.fromkeys(("link.md", "plain.md", "line\nfeed.md", "n" * 252 + ".md"), "hello")
    skipped = {file.name: file.reason for file in loader.skipped}
    assert skipped == {
        "pipe.pdf": "no regular file",
        "socket.docx": "no regular file",
        "dangling.md": "no regular file",
        "loop.md": "no regular file",
        "device.txt": "link out of the folder",
        "out.md": "link out of the folder",
        "not?utf8.md": "name not UTF-8",
        "sparse.txt": "not readable",
    }
    assert all(unicodedata.is_normalized("NFC", name) for name in texts)


def test_a_file_that_is_gone_or_became_a_pipe_is_named(tmp_path: Path) -> None:
    (tmp_path / "b.md").write_text("b")
    os.mkfifo(tmp_path / "pipe.md")
    files = {name: tmp_path / name for name in ("a.md", "b.md", "pipe.md")}
    turn = {"md": build("parser", "text")}
    gone, there, pipe = (file.content for file in read_files(files, turn, NoRedactor()))
    assert isinstance(there, Parsed)
    assert [getattr(content, "detail", "") for content in (gone, pipe)] == ["there is no such file"] * 2


def test_a_text_that_names_a_picture_needs_no_list_of_types_of_the_machine(tmp_path: Path) -> None:
    (tmp_path / "a.rst").write_text("words\n\n.. image:: https://example.org/a.png\n")
    (file,) = read_files({"a.rst": tmp_path / "a.rst"}, {"rst": build("parser", "rst")}, NoRedactor(), 1)
    assert isinstance(file.content, Parsed), file.content
    assert "words" in file.content.text


PARENT = """
import sys
from pathlib import Path
from rag.components.redactors.none import NoRedactor
from rag.documents.reading import read_files
from support.hostile_parsers import HostileParser
files = {path.name: path for path in sorted(Path(sys.argv[1]).iterdir())}
for file in read_files(files, {"bad": HostileParser("hi")}, NoRedactor(), 1):
    print(file.content.text, flush=True)
"""


@pytest.mark.system
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT])
def test_the_process_that_parses_ends_with_its_parent(tmp_path: Path, end: signal.Signals) -> None:
    for number, deed in enumerate(("pid", "sleep")):
        (tmp_path / f"{number}.bad").write_text(deed)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", PARENT, str(tmp_path)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as parent:
        assert parent.stdout
        child = int(parent.stdout.readline().split()[1])
        assert os.getpgid(child) == child
        parent.send_signal(end)
        parent.wait(20)
    for _ in range(100):
        if not Path(f"/proc/{child}").exists():
            return
        time.sleep(0.05)
    pytest.fail("the process still runs")
