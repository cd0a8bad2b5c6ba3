"""Lines from a terminal or a pipe, and texts from an editor."""

import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rag.core.errors import ConfigError

try:
    import termios
except ImportError:  # not on Windows
    termios = None  # type: ignore[assignment]

PROMPT = "> "


class Typed:
    """Reads lines from standard input. On a terminal they can be edited, and earlier ones recalled.

    `words` are completed by the tab key.
    """

    def __init__(self, words: Sequence[str] = ()) -> None:
        self.terminal = sys.stdin.isatty()
        if self.terminal:
            _editing(words)

    def read(self) -> str | None:
        """The next line without its end, or None at the end of input; invalid bytes become replacement characters."""
        try:
            # Lone surrogates, which UTF-8 cannot encode, become question marks.
            return self._line().encode("utf-8", "replace").decode("utf-8")
        except EOFError:
            return None

    @contextmanager
    def unseen(self) -> Iterator[None]:
        """Do not echo typed characters meanwhile; they are read as the next line."""
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


def _editing(words: Sequence[str]) -> None:
    """Turn on line editing, history and completion of commands, if the system has readline."""
    try:
        import readline
    except ImportError:
        return
    # A pasted text of several lines stays one question.
    readline.parse_and_bind("set enable-bracketed-paste on")
    readline.parse_and_bind("tab: complete")
    readline.set_completer_delims(" ")

    def complete(text: str, place: int) -> str | None:
        fitting = [word for word in words if text.startswith("/") and word.startswith(text)]
        return fitting[place] if place < len(fitting) else None

    readline.set_completer(complete)


def edit(text: str, name: str) -> str:
    """The text as the command of VISUAL or EDITOR, or vi, leaves it in a file of that name; ConfigError where it fails."""
    command = shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        path.write_text(text, "utf-8", "replace")
        try:
            subprocess.run([*command, str(path)], check=True)
            return path.read_text("utf-8")
        except (OSError, ValueError, subprocess.CalledProcessError) as error:
            raise ConfigError("EDITOR", f"{command[0]!r} cannot be used ({error})", "name another in EDITOR") from error
