"""A golden set in the native format that is added to, and that can be read after every step."""

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag.components.loaders.folder import NativeQuestions
from rag.core.errors import DataError, UserError, problems_of, together
from rag.core.files import locked, replace_text
from rag.core.records import Document
from rag.core.roles import Loader
from rag.evaluation.data import golden as golden_sets
from rag.evaluation.data.golden import Golden
from rag.evaluation.data.review.quote_fixes import Fixes, fixes


@dataclass(frozen=True)
class _Loaded:
    """Documents that were loaded before."""

    documents: tuple[Document, ...]

    def load(self) -> Iterator[Document]:
        """These."""
        return iter(self.documents)


class QuestionFile:
    """The questions of a set, and the documents that they quote. A file that is not there yet is an empty set."""

    def __init__(self, loader: Loader, questions: NativeQuestions) -> None:
        self.path = questions.path / questions.questions
        self._documents = _Loaded(golden_sets.load_documents(loader))

    def golden(self) -> Golden:
        """The set as it stands now; DataError for one that is broken."""
        return self._read(self.path) if self._text().strip() else Golden(self._documents.documents, ())

    def refusal(self, row: Any) -> UserError | None:
        """Why a question cannot be added: None where it can."""
        try:
            self._checked(row)
        except UserError as error:
            return error
        return None

    def add(self, row: Any) -> None:
        """Write one question more. DataError where that would break the set, or cannot be done; the file is then as before."""
        with self._alone():
            while True:
                before = self._text()
                after = self._checked(row)
                # Somebody may be writing in it with an editor.
                if self._text() == before:
                    break
            self._write(self.path, after)

    def fixes(self) -> Fixes:
        """What can be written as the documents have it."""
        return fixes(self._text(), {document.doc_id: document for document in self._documents.documents})

    def write(self, made: Fixes) -> None:
        """Write fixes; DataError where the file has changed since, or cannot be written: it then stays as it is."""
        with self._alone():
            if self._text() != made.before:
                raise DataError(str(self.path), "was changed meanwhile", "run the command again")
            self._write(self.path, made.after)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Let one review after the other write: each adds to what the last one left."""
        lock = self.path.with_name(f".{self.path.name}.lock")
        with ExitStack() as held:
            try:
                held.enter_context(locked(lock))
            except OSError as error:
                raise _unwritable(self.path, error) from error
            try:
                yield
            finally:
                with suppress(OSError):
                    lock.unlink()  # Whoever waits for a lock that is gone makes a new one.

    def _checked(self, row: Any) -> str:
        """The file with one question more, which has been read as it would be."""
        before = self._text()
        try:
            line = json.dumps(row, ensure_ascii=False, allow_nan=False)
            line.encode("utf-8")
        except ValueError as error:
            raise DataError("question", f"cannot be written as JSON: {error}", "mend the text") from error
        after = f"{before}{'' if not before or before.endswith(chr(10)) else chr(10)}{line}\n"
        trial = self.path.with_name(f".{self.path.name}.{os.getpid()}.review")
        try:
            self._write(trial, after)
            self._read(trial)
        except UserError as error:
            raise together(self._told(one, str(trial)) for one in problems_of(error)) from error
        finally:
            with suppress(OSError):
                trial.unlink(missing_ok=True)
        return after

    def _told(self, error: UserError, trial: str) -> UserError:
        """A problem of the trial file, as one of the file that it is to become."""
        return DataError(error.where.replace(trial, str(self.path)), error.what.replace(trial, str(self.path)), error.remedy)

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


def _unwritable(path: Path, error: OSError) -> DataError:
    return DataError(
        str(path), f"cannot be written ({error.strerror or error})", "give a set in a folder that you may write to"
    )
