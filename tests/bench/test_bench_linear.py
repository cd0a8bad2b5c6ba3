"""No text can hang a guard or the search for headings: four times the text takes about four times the time."""

import pytest
from bench.measuring import least_cpu
from support.growing_texts import HEADED, READ, SAID, Run, growth, look, scan

from rag.core.headings import sections

pytestmark = pytest.mark.bench

LENGTH = 1_000_000
GROWTH = 8.0
"""Four times the text in less than eight times the time: a quadratic search takes sixteen."""


def seconds(run: Run, text: str) -> float:
    """The best of three: what else the machine does comes on top."""
    return max(least_cpu(lambda: run(text)), 1e-3)


@pytest.mark.parametrize("piece", READ)
def test_a_scan_grows_with_the_text(piece: str) -> None:
    assert growth(scan(), piece, LENGTH, seconds) < GROWTH


@pytest.mark.parametrize("piece", SAID)
def test_a_look_at_a_reply_grows_with_the_reply(piece: str) -> None:
    assert growth(look(), piece, LENGTH, seconds) < GROWTH


@pytest.mark.parametrize("piece", HEADED)
def test_headings_are_found_in_time_that_grows_with_the_text(piece: str) -> None:
    assert growth(sections, piece, LENGTH // 4, seconds) < GROWTH
