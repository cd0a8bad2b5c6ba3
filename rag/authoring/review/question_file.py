"""Add questions to a golden set in the native format; the file stays valid after every step."""

import json
import os
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from rag.authoring.candidates import Row
from rag.authoring.review.quote_fixes import Fixes, find_fixes, restyled
from rag.components.loaders.native_questions import NativeQuestions
from rag.core.errors import DataError, UserError, problems_of, together
from rag.core.files import locked, replace_text
from rag.core.roles import Loader
from rag.core.types import Anchor, Example
from rag.documents.folder.json_rows import parse_row, read_rows
from rag.evaluation.data.golden import Golden, documents_of, of_documents


class QuestionFile:
    """The questions of a set with the documents that they quote. A missing file is an empty set."""

    def __init__(self, loader: Loader, questions: NativeQuestions) -> None:
        self.path = questions.file
        self.documents = documents_of(loader)

    def golden(self) -> Golden:
        """The set as it is now; DataError if it is invalid."""
        return self._read(self.path) if self._text().strip() else Golden(tuple(self.documents.values()), ())

    def rows(self, problems: list[UserError] | None = None) -> list[Row]:
        """The lines as JSON objects, their quotes unchecked; DataError for a line that is none, or one of `problems`."""
        return [dict(row.fields) for row in read_rows(self.path, problems)] if self._text().strip() else []

    def version(self) -> tuple[int, ...]:
        """Numbers that change when the file is written."""
        try:
            found = self.path.stat()
        except OSError:
            return ()
        return found.st_ino, found.st_mtime_ns, found.st_size

    def refusal(self, row: Any, old: Row | None = None) -> UserError | None:
        """The error with which `add` would refuse a question, or `swap` in place of `old`; None if they would not."""
        try:
            text = self._text()
            if old is not None:
                _same_place(old, row)
                text = "\n" * _place(text, old, self.path)
            self._checked(row, text)
        except UserError as error:
            return error
        return None

    def add(self, row: Any) -> None:
        """Add a question. DataError if the set would be invalid or the file cannot be written; the file is then unchanged."""
        self._edit(lambda text: self._checked(row, text))

    def swap(self, old: Row | None, new: Row | None, number: int = 0) -> int:
        """Put a question in the place of another, and return the number of its line, from 0.

        None is no line: the old question is removed, or the new one is added before line `number`.
        DataError for an invalid question, and for an old one that another reviewer has changed: the file is then unchanged.
        Errors of other questions do not matter: a set can be reviewed after a document has gone.
        """
        at = number

        def make(text: str) -> str:
            nonlocal at
            lines = text.split("\n")
            at = number if old is None else _place(text, old, self.path)
            if old is not None and new is not None:
                _same_place(old, new)
                self._checked(new, "\n" * at)
            line = "" if new is None else restyled(lines[at], old, new) if old else json.dumps(new, ensure_ascii=False)
            lines[at : at + (old is not None)] = [line] if new else []
            return "\n".join(lines)

        self._edit(make)
        return at

    def fixes(self, reworded: Collection[str] = ()) -> Fixes:
        """The quotes that can be corrected to the words of their documents, also where `reworded` names their questions."""
        return find_fixes(self._text(), self.documents, reworded)

    def write(self, fixes: Fixes) -> None:
        """Write fixes; DataError if the file has changed since or cannot be written: it then stays unchanged."""
        with self._alone():
            if self._text() != fixes.before:
                raise DataError(str(self.path), "was changed meanwhile", "run the command again")
            self._write(self.path, fixes.after)

    def _edit(self, make: Callable[[str], str]) -> None:
        """Write what `make` makes of the text of the file."""
        with self._alone():
            while True:
                before = self._text()
                after = make(before)
                # An editor may have changed the file meanwhile.
                if self._text() == before:
                    break
            self._write(self.path, after)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Lock the file, so that concurrent reviews write one after the other."""
        lock = self.path.with_name(f".{self.path.name}.lock")
        with ExitStack() as stack:
            try:
                stack.enter_context(locked(lock))
            except OSError as error:
                raise _unwritable(self.path, error) from error
            try:
                yield
            finally:
                with suppress(OSError):
                    lock.unlink()  # a process that waits for the lock makes a new one

    def _checked(self, row: Any, before: str) -> str:
        """The text `before` with a question added, after it was loaded as a test."""
        try:
            line = json.dumps(row, ensure_ascii=False, allow_nan=False)
            line.encode("utf-8")
        except ValueError as error:
            raise DataError("question", f"cannot be written as JSON: {error}", "fix the text") from error
        if "\\u0000" in line.replace("\\\\", ""):
            raise DataError("question", "has a NUL character, which databases and terminals do not hold", "remove it")
        after = f"{before}{'' if not before or before.endswith(chr(10)) else chr(10)}{line}\n"
        trial = self.path.with_name(f".{self.path.name}.{os.getpid()}.review")
        try:
            self._write(trial, after)
            _refuse_lost(self._read(trial).examples[-1])
        except UserError as error:
            names = str(trial), str(self.path)
            own = (DataError(each.where.replace(*names), each.what.replace(*names), each.remedy) for each in problems_of(error))
            raise together(own) from error
        finally:
            with suppress(OSError):
                trial.unlink(missing_ok=True)
        return after

    def _text(self) -> str:
        try:
            return self.path.read_bytes().decode("utf-8") if self.path.exists() else ""
        except (OSError, ValueError) as error:
            raise DataError(str(self.path), f"cannot be read ({error})", "check the file and its permissions") from error

    def _read(self, path: Path) -> Golden:
        return of_documents(self.documents, NativeQuestions(str(path.parent), path.name))

    def _write(self, path: Path, text: str) -> None:
        try:
            replace_text(path, text)
        except OSError as error:
            raise _unwritable(path, error) from error


def _refuse_lost(example: Example) -> None:
    """DataError for a question with a quote that is not in its document: a person can still correct it."""
    for place in example.places:
        if isinstance(place, Anchor) and place.rule:
            raise DataError(f"question {example.query.query_id!r}", f"{place.doc_id}: {place.rule}", "correct the quote")


def _place(text: str, row: Row, path: Path) -> int:
    """The number, from 0, of the line with exactly this question; DataError if there is none."""
    name = row.get("id")
    marks = json.dumps(name), json.dumps(name, ensure_ascii=False)
    for number, line in enumerate(text.split("\n")):
        if name is None or any(mark in line for mark in marks):
            with suppress(DataError):
                if parse_row(line.removeprefix("\ufeff"), "").fields == row:
                    return number
    raise DataError(f"question {name!r}", f"was changed or removed in {path} meanwhile", "look at it again")


def _same_place(old: Row, new: Row) -> None:
    """DataError for an edit that the rest of the set would have to be checked for."""
    for key in ("id", "dialogue", "turn"):
        if new.get(key) != old.get(key):
            raise DataError(f"question {old.get('id')!r}", f"{key!r} was edited", "keep it; edit the file itself to change it")
    if bool(new.get("split")) != bool(old.get("split")):
        raise DataError(f"question {old.get('id')!r}", "'split' was added or removed", "all questions have a split, or none")


def _unwritable(path: Path, error: OSError) -> DataError:
    return DataError(str(path), f"cannot be written ({error.strerror or error})", "use a set in a folder with write permission")
