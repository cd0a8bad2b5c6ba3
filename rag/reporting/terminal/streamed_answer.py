"""A streamed answer: the current step until the first piece arrives, then the pieces, with line breaks between words."""

import re
from types import TracebackType

from rich.cells import cell_len
from rich.text import Text

from rag.core.text.citations import place_of
from rag.core.types import Ranking
from rag.reporting.terminal.answers import cited
from rag.reporting.terminal.output import amount, err, out, stream, visible

LONGEST = 24
"""Characters of a word that are printed before its end arrives; some languages put no blanks between words."""


class Waiting:
    """Shows the current step on standard error, on terminals only, until the first piece of an answer.

    Pieces of an answer are shown on terminals only: a pipe gets the whole answer after its checks. `heard` is the text shown.
    """

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

    def now(self, what: str) -> None:
        """Show another step."""
        self._status.update(Text(what, "dim"))

    def reading(self, passages: Ranking, listed: bool = False) -> None:
        """Show that the model reads passages; `listed` prints them, on a terminal."""
        if listed and out.is_terminal:
            self._status.stop()
            for number, hit in enumerate(passages, 1):
                cited(number, hit.chunk, place_of(hit.chunk))
            self._status.start()
        self.now(f"reading {amount(len(passages), 'passage')} …")

    def __call__(self, piece: str) -> None:
        """Print a piece of an answer on a terminal; an empty piece means that a model writes text that is not shown."""
        if not piece or not out.is_terminal:
            self.now("writing …")
            return
        self._status.stop()
        self.heard += piece
        # A word may arrive in several pieces; only at its end is its width known.
        *whole, self._word = re.split(r"(?<=\s)", self._word + visible(piece))
        if len(self._word) > LONGEST:
            whole, self._word = [*whole, self._word], ""
        for part in whole:
            self._put(part)

    def _put(self, part: str) -> None:
        """Print a word with the blank behind it, on a new line if it does not fit."""
        if self._column and self._column + cell_len(part.rstrip()) > out.width:
            stream("\n")
            self._column = 0
        if self._column + cell_len(part) > out.width:
            part = part.rstrip(" ")  # A blank at the edge would begin the next line.
        stream(part)
        _, ended, rest = part.rpartition("\n")
        self._column = cell_len(rest) + (0 if ended else self._column)
