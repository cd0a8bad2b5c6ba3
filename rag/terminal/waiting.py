"""An answer as it comes: a sign of life until its first piece is there, then the pieces, broken between words."""

import re
from types import TracebackType

from rich.cells import cell_len
from rich.text import Text

from rag.terminal.output import err, out, stream, visible

LONGEST = 24
"""Characters after which a word is not waited for to end; some languages put no blanks between words."""


class Waiting:
    """Shows that something is being waited for, on standard error and on terminals only, until it hears something."""

    def __init__(self, what: str = "…") -> None:
        self.heard = ""
        self._status = err.status(Text(what, "dim"), spinner="dots")
        self._word = ""
        self._column = 0

    def __enter__(self) -> "Waiting":
        self._status.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._status.stop()
        self._put(self._word)
        self._word = ""

    def __call__(self, piece: str) -> None:
        """Print a piece of an answer."""
        if not piece:
            return
        self._status.stop()
        self.heard += piece
        if not out.is_terminal:
            stream(piece)
            return
        # A word may come in several pieces: whether it fits into its line is known at its end.
        *whole, self._word = re.split(r"(?<=\s)", self._word + visible(piece))
        if len(self._word) > LONGEST:
            whole, self._word = [*whole, self._word], ""
        for part in whole:
            self._put(part)

    def _put(self, part: str) -> None:
        """A word with the blank behind it, on a line of its own if this one has no room."""
        if self._column and self._column + cell_len(part.rstrip()) > out.width:
            stream("\n")
            self._column = 0
        if self._column + cell_len(part) > out.width:
            part = part.rstrip(" ")  # A blank at the edge would begin the next line.
        stream(part)
        _, ended, rest = part.rpartition("\n")
        self._column = cell_len(rest) + (0 if ended else self._column)
