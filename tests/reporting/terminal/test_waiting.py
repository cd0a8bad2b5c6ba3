"""A streamed answer breaks between words on a terminal."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from rag.reporting.terminal import output, streamed_answer


def shown(pieces: list[str], monkeypatch: pytest.MonkeyPatch) -> str:
    screen = Console(file=io.StringIO(), width=20, force_terminal=True, color_system=None, highlight=False)
    with monkeypatch.context() as patched:
        patched.setattr(streamed_answer, "out", screen)
        patched.setattr(output, "out", screen)
        with streamed_answer.Waiting() as hear:
            for piece in pieces:
                hear(piece)
    assert isinstance(screen.file, io.StringIO)
    return screen.file.getvalue()


@given(st.lists(st.text(alphabet="ab 日\n.", max_size=30), max_size=12))
def test_no_line_is_too_long_and_no_word_is_lost(pieces: list[str]) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        said = shown(pieces, monkeypatch)
    text = "".join(pieces)
    assert "".join(said.split()) == "".join(text.split())
    longest = max((cell_len(word) for word in text.split()), default=0)
    assert longest > 20 or said.split() == text.split(), "lines break between words"
    assert longest > streamed_answer.LONGEST or all(cell_len(line) <= max(20, longest) for line in said.split("\n"))
