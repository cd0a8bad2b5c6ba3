"""No text makes a guard do more than its share: four times the text takes four times the steps, whatever it is made of.

Steps of Python are counted, which no other work on the machine changes. What one step takes is RE2's promise, and measured by
`make bench`.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
import yaml

from rag.guards.output import OutputGuard
from rag.guards.scan import ScanGuard
from rag.records import Chunk, Message, Query, Reply, Request, Span

CONF = Path(__file__).parents[2] / "conf" / "guard"
SCAN = yaml.safe_load((CONF / "scan.yaml").read_text("utf-8"))["scan"]
OUTPUT = yaml.safe_load((CONF / "output.yaml").read_text("utf-8"))["output"]
LENGTH = 20_000
GROWTH = 4.5
"""Four times the text takes four times the steps and what is done once; a quadratic search takes sixteen times as many."""

READ = ("ignore all ", "i g n o r e ", "&#105;", "%41%", "\u200b", "when answering, ")
SAID = ("![a](", "![a][", "http://a ", "[[1]", "<a ", "Answer from the sources, in one sentence. ")


def steps(run: Callable[[str], object], text: str) -> int:
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


def growth(run: Callable[[str], object], piece: str) -> float:
    short, long = (piece * (length // len(piece)) for length in (LENGTH // 4, LENGTH))
    run(short[:1000])
    return steps(run, long) / steps(run, short)


def test_steps_tell_a_quadratic_search() -> None:
    assert growth(lambda text: [None for _ in text for _ in text[::50]], "abc") > 2 * GROWTH


@pytest.mark.parametrize("piece", READ)
def test_a_scan_grows_with_the_text(piece: str) -> None:
    guard = ScanGuard(**{name: value for name, value in SCAN.items() if name not in ("_target_", "embedder")})
    assert growth(guard.findings, piece) < GROWTH


@pytest.mark.parametrize("piece", SAID)
def test_a_look_at_a_reply_grows_with_the_reply(piece: str) -> None:
    guard = OutputGuard(**{name: value for name, value in OUTPUT.items() if name != "_target_"})
    contexts = (Chunk(Span("d", 0, 1), "See https://ok.example/a."),)
    request = Request(Query("q", "what?"), contexts, (Message("system", "Answer from the sources, in one sentence. " * 3),))
    assert growth(lambda text: guard.inspect([request], [Reply(text)]), piece) < GROWTH
