"""Files → their contents: stored ones, or by the parser of each suffix, in confined processes."""

import hashlib
import os
import time
from collections import deque
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol, runtime_checkable

from rag.core.errors import DataError
from rag.core.progress import WATCH
from rag.core.roles import Parser, Redactor
from rag.core.source_files import suffix_of
from rag.core.types import Parsed
from rag.documents.clean.redact import redact
from rag.documents.folder.file_tree import CLOSED, NOT_TEXT
from rag.documents.folder.files import read_bytes
from rag.documents.folder.json_rows import shortened
from rag.documents.sandbox.child_process import Answer
from rag.documents.sandbox.child_process import Unreadable as Unreadable
from rag.documents.sandbox.children import Children
from rag.documents.sandbox.limits import Limits


@dataclass(frozen=True, slots=True)
class FileRead:
    """The result for one file.

    `name` is relative to its folder, `parser` the class of the parser, `seconds` the time of parsing, `size` the bytes of the
    file. `is_stored`: the content was in the store, and nothing was parsed.
    """

    name: str
    sha256: str
    parser: str
    content: Parsed | Unreadable
    seconds: float = 0.0
    is_stored: bool = False
    size: int = 0


@runtime_checkable
class ParseStore(Protocol):
    """A parser with a store of redacted contents, by the bytes of a file, its suffix and the redactor."""

    parser: Parser

    def find(self, sha256: str, suffix: str, redactor: Redactor) -> Parsed | Unreadable | None:
        """The stored content, or None."""

    def keep(self, sha256: str, suffix: str, redactor: Redactor, content: Parsed | Unreadable) -> None:
        """Store a content that is redacted."""

    def has(self, sha256: str, suffix: str, redactor: Redactor) -> bool:
        """Whether a content is stored."""

    def record(self, seconds: float, size: int) -> None:
        """Store the seconds that files of `size` bytes took together."""


def read_files(
    files: Mapping[str, Path],
    parsers: Mapping[str, Parser],
    redactor: Redactor,
    workers: int | None = None,
    limits: Limits | None = None,
    password_env: str | None = None,
) -> Iterator[FileRead]:
    """The content of every file, redacted, in the order of `files`.

    Parsers that are not `in_process` run in `workers` confined processes (`rag.documents.sandbox.confinement`); a file that
    breaks a limit there is Unreadable. Contents that a `ParseStore` has are not parsed. A few files are held at a time.
    """
    with ExitStack() as held:
        listen = held.enter_context(WATCH.get()(len(files)))
        own, password = [bare(parser) for parser in parsers.values()], os.environ.get(password_env or "", "")
        children = held.enter_context(Children(own, workers, limits or Limits(), password))
        reader = _Reader(parsers, redactor, children)
        held.callback(reader.record)
        for file in _in_order(files, reader):
            listen(file.is_stored)
            yield file


def unparsed(files: Mapping[str, Path], parsers: Mapping[str, Parser], redactor: Redactor) -> dict[str, tuple[Parser, int]]:
    """The parser and the size of every file that a process would have to parse, by name; nothing is parsed."""
    found = {}
    for name, path in files.items():
        suffix = suffix_of(path)
        parser = parsers[suffix]
        if parser.in_process:
            continue
        try:
            data = read_bytes(path, Limits().file)
        except DataError:
            continue
        digest = hashlib.sha256(data).hexdigest()
        if not (isinstance(parser, ParseStore) and parser.has(digest, suffix, redactor)):
            found[name] = parser, len(data)
    return found


@dataclass(slots=True)
class _Reading:
    """A file whose content is there, or that a process is parsing."""

    file: FileRead
    suffix: str
    answer: "Future[Answer] | None" = None

    @property
    def is_parsing(self) -> bool:
        return self.answer is not None and not self.answer.done()


class _Reader:
    def __init__(self, parsers: Mapping[str, Parser], redactor: Redactor, children: Children) -> None:
        self.redactor, self.children = redactor, children
        self._bare = {suffix: bare(parser) for suffix, parser in parsers.items()}
        self._stores = {suffix: parser for suffix, parser in parsers.items() if isinstance(parser, ParseStore)}
        self._costs: dict[str, tuple[float, int]] = {}

    def begin(self, name: str, path: Path) -> _Reading:
        """Read a file; take its content from the store, decode it, or send it to a process."""
        suffix, began = suffix_of(path), time.perf_counter()
        parser = self._bare[suffix]
        label = type(parser).__name__
        try:
            data = read_bytes(path, self.children.limits.file)
        except DataError as error:
            return _Reading(FileRead(name, "", label, self._unreadable(CLOSED, error.what)), suffix)
        file = FileRead(name, hashlib.sha256(data).hexdigest(), label, Unreadable("", ""), size=len(data))
        store = self._stores.get(suffix)
        if store and (content := store.find(file.sha256, suffix, self.redactor)):
            return _Reading(replace(file, content=content, is_stored=True), suffix)
        if not parser.in_process:
            # A name would be no part of the key of a stored content.
            return _Reading(file, suffix, self.children.submit(parser, data, f"file.{suffix}"))
        try:
            content = parser.parse(data, f"file.{suffix}")
        except DataError as error:
            content = Unreadable(NOT_TEXT if isinstance(error.__cause__, UnicodeDecodeError) else CLOSED, error.what)
        return self._kept(_Reading(file, suffix), content, time.perf_counter() - began)

    def finish(self, reading: _Reading) -> FileRead:
        """The result for a file; waits for its process."""
        if reading.answer:
            answer = reading.answer.result()
            self._kept(reading, answer.content, answer.seconds)
            seconds, size = self._costs.get(reading.suffix, (0.0, 0))
            self._costs[reading.suffix] = (seconds + answer.seconds, size + reading.file.size)
        return reading.file

    def record(self) -> None:
        """Store how fast the files of each suffix were parsed."""
        for suffix, cost in self._costs.items():
            if store := self._stores.get(suffix):
                store.record(*cost)

    def _kept(self, reading: _Reading, content: Parsed | Unreadable, seconds: float) -> _Reading:
        """The reading with a redacted content, which is stored."""
        file, store = reading.file, self._stores.get(reading.suffix)
        if isinstance(content, Unreadable):
            content = self._unreadable(content.reason, content.detail, content.is_lasting)
        else:
            content = redact(content, self.redactor)
        reading.file = replace(file, content=content, seconds=seconds)
        if store and (isinstance(content, Parsed) or content.is_lasting):
            store.keep(file.sha256, reading.suffix, self.redactor, content)
        return reading

    def _unreadable(self, reason: str, detail: str, is_lasting: bool = True) -> Unreadable:
        """Errors of libraries may quote the file: its secrets go, and it is one line that a terminal can show."""
        line = shortened(redact(Parsed(detail), self.redactor).text, 200)
        return Unreadable(reason, "".join(each if each.isprintable() else "\ufffd" for each in line), is_lasting)


def _in_order(files: Mapping[str, Path], reader: _Reader) -> Iterator[FileRead]:
    waiting: deque[_Reading] = deque()
    most, children = 2 * reader.children.workers, reader.children
    for name, path in files.items():
        waiting.append(reader.begin(name, path))
        held = sum(reading.file.size for reading in waiting if reading.is_parsing)
        while waiting and (not waiting[0].is_parsing or len(waiting) > most or held > children.limits.waiting):
            held -= waiting[0].file.size
            yield reader.finish(waiting.popleft())
    while waiting:
        yield reader.finish(waiting.popleft())


def bare(parser: Parser) -> Parser:
    """A parser without its store."""
    return parser.parser if isinstance(parser, ParseStore) else parser
