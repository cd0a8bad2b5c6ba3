"""The bar for reading files: an estimate from the files that were parsed last."""

import io
from pathlib import Path

import pytest
from rich.console import Console
from support.corpora import text_folder

from rag.documents.progress import WATCH
from rag.reporting.terminal import progress
from rag.reporting.terminal.progress import WINDOW, FilesProgress


class Clock:
    now = 0.0

    def monotonic(self) -> float:
        return self.now


def test_the_time_left_is_that_of_the_last_parsed_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "time", clock := Clock())
    screen = io.StringIO()
    monkeypatch.setattr(progress, "err", Console(file=screen, force_terminal=True, width=100))
    with FilesProgress(1000) as bar:
        for _ in range(400):
            bar(True)
        assert bar.seconds_left() == 0
        assert screen.getvalue() == ""
        for _ in range(100):
            clock.now += 0.5
            bar(False)
        assert bar.seconds_left() == pytest.approx(500 * 0.5)
        for _ in range(WINDOW):
            clock.now += 2.0
            bar(False)
        assert bar.seconds_left() == pytest.approx((500 - WINDOW) * 2.0)
    assert "files parsed" in screen.getvalue()
    assert "872 s left" in screen.getvalue()


def test_every_file_of_a_load_is_counted_and_the_end_is_seen(tmp_path: Path) -> None:
    for number in range(5):
        (tmp_path / f"{number}.md").write_text("words")
    seen: list[object] = []

    class Listening:
        def __init__(self, total: int) -> None:
            seen.append(total)

        def __enter__(self) -> "Listening":
            return self

        def __exit__(self, *_: object) -> None:
            seen.append("end")

        def __call__(self, is_stored: bool) -> None:
            seen.append(is_stored)

    token = WATCH.set(Listening)
    try:
        list(text_folder(str(tmp_path)).load())
    finally:
        WATCH.reset(token)
    assert seen == [5, *[False] * 5, "end"]
