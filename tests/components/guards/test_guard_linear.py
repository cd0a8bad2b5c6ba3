"""No text makes a guard do more than its share: four times the text takes four times the steps, whatever it is made of.

Steps of Python are counted, which no other work on the machine changes. What one step takes is RE2's promise.
"""

import sys
from types import FrameType
from typing import Any

import pytest
from support.growing_texts import CITED, READ, SAID, Run, cited, growth, look, scan

LENGTH = 8_000
GROWTH = 4.5
"""Four times the text takes four times the steps and what is done once; a quadratic search takes sixteen times as many."""


def steps(run: Run, text: str) -> int:
    """Lines of Python that are run."""
    count = 0

    def line(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return line

    before = sys.gettrace()
    sys.settrace(line)
    try:
        run(text)
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("piece", READ)
def test_a_scan_grows_with_the_text(piece: str) -> None:
    assert growth(scan(), piece, LENGTH, steps) < GROWTH


@pytest.mark.parametrize("piece", SAID)
def test_a_look_at_a_reply_grows_with_the_reply(piece: str) -> None:
    assert growth(look(), piece, LENGTH, steps) < GROWTH


@pytest.mark.parametrize("piece", CITED)
def test_what_is_read_of_a_reply_grows_with_the_reply(piece: str) -> None:
    assert growth(cited(), piece, LENGTH, steps) < GROWTH
