"""Lines that a person types, or that come through a pipe."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

try:
    import termios
except ImportError:  # not on Windows
    termios = None  # type: ignore[assignment]

PROMPT = "> "


class Typed:
    """Reads questions from standard input; None at its end. On a terminal they can be edited and are remembered meanwhile."""

    def __init__(self, words: Sequence[str] = ()) -> None:
        self.terminal = sys.stdin.isatty()
        if self.terminal:
            _editing(words)

    def read(self) -> str | None:
        """The next line without its end, whatever bytes it is made of."""
        try:
            return _sound(self._line())
        except EOFError:
            return None

    @contextmanager
    def unseen(self) -> Iterator[None]:
        """What is typed meanwhile does not show among what is printed; it is read as the next line all the same."""
        if not self.terminal or termios is None:
            yield
            return
        before = termios.tcgetattr(sys.stdin)
        silent = [*before[:3], before[3] & ~termios.ECHO, *before[4:]]
        termios.tcsetattr(sys.stdin, termios.TCSANOW, silent)
        try:
            yield
        finally:
            termios.tcsetattr(sys.stdin, termios.TCSANOW, before)

    def _line(self) -> str:
        if not self.terminal:
            line = sys.stdin.buffer.readline()
            if not line:
                raise EOFError
            return line.decode("utf-8", "replace").rstrip("\r\n")
        try:
            return input(PROMPT)
        except UnicodeDecodeError as error:
            return bytes(error.object).decode("utf-8", "replace")


def _sound(line: str) -> str:
    """Half a surrogate pair, which no request and no file can hold, becomes a question mark."""
    return line.encode("utf-8", "replace").decode("utf-8")


def _editing(words: Sequence[str]) -> None:
    """Editing, history and completion of commands, where the system offers them."""
    try:
        import readline
    except ImportError:
        return
    # A pasted text stays one question, however many lines it has.
    readline.parse_and_bind("set enable-bracketed-paste on")
    readline.parse_and_bind("tab: complete")
    readline.set_completer_delims(" ")

    def complete(text: str, place: int) -> str | None:
        found = [word for word in words if text.startswith("/") and word.startswith(text)]
        return found[place] if place < len(found) else None

    readline.set_completer(complete)
