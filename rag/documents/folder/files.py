"""Reading files as UTF-8 text; errors name file, line and byte."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rag.core.errors import DataError, UserError

BYTE_ORDER_MARK = "\ufeff"


def read_text(path: Path) -> str:
    r"""The whole file as text: a byte order mark is dropped, and `\r\n` and `\r` become `\n`.

    So offsets, quotes and digests do not depend on the line ends that a version control system wrote. Offsets count
    characters of the text as `open(path, encoding="utf-8")` reads it.
    """
    return decode(read_bytes(path), str(path))


def read_bytes(path: Path, most: int | None = None) -> bytes:
    """The whole file; DataError if it is missing, is no regular file, cannot be read, or has more than `most` bytes."""
    try:
        # Without waiting: a pipe may have taken the place of the file.
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | getattr(os, "O_NONBLOCK", 0))) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise missing_file(path)
            data = file.read(-1 if most is None else most + 1)
    except FileNotFoundError as error:
        raise missing_file(path) from error
    except OSError as error:
        if not os.path.isfile(path):
            raise missing_file(path) from error
        raise DataError(str(path), f"cannot be read: {error.strerror}", "check its permissions") from error
    if most is not None and len(data) > most:
        raise DataError(str(path), f"is larger than {most >> 20} MB", "split it, or leave it out")
    return data


def decode(raw: bytes, where: str) -> str:
    """The bytes of a file as `read_text` reads them."""
    return _decoded(raw, where, 0).removeprefix(BYTE_ORDER_MARK).replace("\r\n", "\n").replace("\r", "\n")


def read_lines(path: Path, problems: list[UserError] | None = None) -> Iterator[tuple[str, str]]:
    r"""Pairs of `file:line` (from 1) and the line without its end; blank lines are left out.

    Only `\n` and `\r\n` end a line: U+2028 and similar characters may occur inside JSON text. A line that is not UTF-8 is a
    DataError, which is added to `problems` unless that is None.
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
    """Add a UserError of the block to `problems` and continue after the block; raise it if `problems` is None."""
    try:
        yield
    except UserError as error:
        if problems is None:
            raise
        problems.append(error)


def missing_file(path: Path) -> DataError:
    """The error for a missing file; it lists the files of its folder."""
    try:
        listed = f"{path.parent} has: {', '.join(sorted(os.listdir(path.parent))[:10]) or 'nothing'}"
    except PermissionError:
        listed = f"{path.parent} may not be listed"
    except OSError:
        listed = f"there is no {path.parent}"
    return DataError(str(path), "there is no such file", f"{listed}; check the path")


def _decoded(raw: bytes, where: str, offset: int) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        what = f"is not UTF-8: byte 0x{raw[error.start]:02x} at byte offset {offset + error.start}"
        raise DataError(where, what, "save the file as UTF-8, or leave it out") from error
