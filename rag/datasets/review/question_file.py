"""Add questions to a golden set in the native format; the file stays valid after every step."""

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag.components.loaders.native_questions import NativeQuestions
from rag.core.errors import DataError, UserError, problems_of, together
from rag.core.files import locked, replace_text
from rag.core.records import Anchor, Document, Example
from rag.core.roles import Loader
from rag.datasets.review.quote_fixes import Fixes, find_fixes
from rag.evaluation.data import golden as golden_sets
from rag.evaluation.data.golden import Golden


@dataclass(frozen=True)
class _Loaded:
    """A loader of documents that are loaded already."""

    documents: tuple[Document, ...]

    def load(self) -> Iterator[Document]:
        """The documents."""
        return iter(self.documents)


class QuestionFile:
    """The questions of a set with the documents that they quote. A missing file is an empty set."""

    def __init__(self, loader: Loader, questions: NativeQuestions) -> None:
        self.path = questions.path / questions.questions
        self._documents = _Loaded(golden_sets.load_documents(loader))

    def golden(self) -> Golden:
        """The set as it is now; DataError if it is invalid."""
        return self._read(self.path) if self._text().strip() else Golden(self._documents.documents, ())

    def refusal(self, row: Any) -> UserError | None:
        """The error with which `add` would refuse a question; None if it would not."""
        try:
            self._checked(row)
        except UserError as error:
            return error
        return None

    def add(self, row: Any) -> None:
        """Add a question. DataError if the set would be invalid or the file cannot be written; the file is then unchanged."""
        with self._alone():
            while True:
                before = self._text()
                after = self._checked(row)
                # An editor may have changed the file meanwhile.
                if self._text() == before:
                    break
            self._write(self.path, after)

    def fixes(self) -> Fixes:
        """The quotes that can be corrected to the words of their documents."""
        return find_fixes(self._text(), {document.doc_id: document for document in self._documents.documents})

    def write(self, fixes: Fixes) -> None:
        """Write fixes; DataError if the file has changed since or cannot be written: it then stays unchanged."""
        with self._alone():
            if self._text() != fixes.before:
                raise DataError(str(self.path), "was changed meanwhile", "run the command again")
            self._write(self.path, fixes.after)

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

    def _checked(self, row: Any) -> str:
        """The text of the file with the question added, after it was loaded as a test."""
        before = self._text()
        try:
            line = json.dumps(row, ensure_ascii=False, allow_nan=False)
            line.encode("utf-8")
        except ValueError as error:
            raise DataError("question", f"cannot be written as JSON: {error}", "fix the text") from error
        after = f"{before}{'' if not before or before.endswith(chr(10)) else chr(10)}{line}\n"
        trial = self.path.with_name(f".{self.path.name}.{os.getpid()}.review")
        try:
            self._write(trial, after)
            _refuse_lost(self._read(trial).examples[-1])
        except UserError as error:
            raise together(_moved(problem, str(trial), str(self.path)) for problem in problems_of(error)) from error
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
        return golden_sets.load(self._documents, NativeQuestions(str(path.parent), path.name))

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


def _moved(error: UserError, old: str, new: str) -> UserError:
    """The same problem with another path."""
    return DataError(error.where.replace(old, new), error.what.replace(old, new), error.remedy)


def _unwritable(path: Path, error: OSError) -> DataError:
    return DataError(str(path), f"cannot be written ({error.strerror or error})", "use a set in a folder with write permission")
