"""Reading files as UTF-8 text, with errors that say which file, which line and which byte."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rag.core.errors import DataError, UserError

BYTE_ORDER_MARK = "\ufeff"


def read_text(path: Path) -> str:
    r"""The whole file as text: a byte order mark is dropped, and `\r\n` and `\r` become `\n`.

    Line ends are made equal so that offsets, quotes and digests are the same whichever way a version control system wrote
    them on this machine. Offsets therefore count characters of the text as `open(path, encoding="utf-8")` gives it.
    """
    text = _decoded(_bytes(path), str(path), 0)
    return text.removeprefix(BYTE_ORDER_MARK).replace("\r\n", "\n").replace("\r", "\n")


def read_lines(path: Path, problems: list[UserError] | None = None) -> Iterator[tuple[str, str]]:
    r"""Pairs of `file:line` (from 1) and the line without its end; blank lines are left out.

    Only `\n` and `\r\n` end a line: U+2028 and its like may stand inside JSON text. A line that is not UTF-8 is a DataError; it
    is put into `problems` where there are any to be gathered.
    """
    if not path.is_file():
        raise missing_file(path)
    offset = 0
    with path.open("rb") as lines:
        for number, raw in enumerate(lines, 1):
            where = f"{path}:{number}"
            text = ""
            with gathered(problems):
                text = _decoded(raw, where, offset).rstrip("\r\n")
            offset += len(raw)
            if text.strip():
                yield where, text.removeprefix(BYTE_ORDER_MARK) if number == 1 else text


@contextmanager
def gathered(problems: list[UserError] | None) -> Iterator[None]:
    """Put an error of the user into a list and go on behind the block; without a list it is raised."""
    try:
        yield
    except UserError as error:
        if problems is None:
            raise
        problems.append(error)


def missing_file(path: Path) -> DataError:
    """The error for a file that is not there; it lists the files beside which it should stand."""
    beside = sorted(entry.name for entry in path.parent.iterdir())[:10] if path.parent.is_dir() else []
    listed = f"{path.parent} has: {', '.join(beside) or 'nothing'}" if path.parent.is_dir() else f"there is no {path.parent}"
    return DataError(str(path), "there is no such file", f"{listed}; check the path")


def _bytes(path: Path) -> bytes:
    if not path.is_file():
        raise missing_file(path)
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(str(path), f"cannot be read: {error.strerror}", "check its permissions") from error


def _decoded(raw: bytes, where: str, offset: int) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        found = f"is not UTF-8: byte 0x{raw[error.start]:02x} at byte offset {offset + error.start}"
        raise DataError(where, found, "save the file as UTF-8, or leave it out") from error
