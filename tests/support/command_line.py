"""The command line, called in this process: a new process takes two seconds."""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from rag import cli


@dataclass(frozen=True)
class CommandResult:
    """The exit code and both outputs of a command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one JSON value on standard output."""
        return json.loads(self.out)


Verb = Callable[..., CommandResult]


def verb(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Verb:
    """A function that calls `rag` with some arguments; a slow machine adds no lines on progress to its output."""
    monkeypatch.setattr("rag.reporting.terminal.progress.PAUSE", 1e6)

    def rag(*arguments: str) -> CommandResult:
        monkeypatch.setattr(sys, "argv", ["rag", *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as caught:
            cli.main()
        output = capsys.readouterr()
        return CommandResult(int(caught.value.code or 0), output.out, output.err)

    return rag
