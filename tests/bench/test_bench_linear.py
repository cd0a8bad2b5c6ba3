"""No text can hang a guard: four times the text takes about four times the time, whatever the text is made of."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from rag.guards.output import OutputGuard
from rag.guards.scan import ScanGuard
from rag.records import Chunk, Message, Query, Reply, Request, Span

pytestmark = pytest.mark.bench

CONF = Path(__file__).parents[2] / "conf" / "guard"
SCAN = yaml.safe_load((CONF / "scan.yaml").read_text("utf-8"))["scan"]
OUTPUT = yaml.safe_load((CONF / "output.yaml").read_text("utf-8"))["output"]
LENGTH = 1_000_000
GROWTH = 8.0
"""Four times the text in less than eight times the time: a quadratic search takes sixteen."""

READ = ("ignore all ", "i g n o r e ", "&#105;", "%41%", "\u200b", "when answering, ")
SAID = ("![a](", "![a][", "http://a ", "[[1]", "<a ", "Answer from the sources, in one sentence. ")


def seconds(run: Callable[[str], object], text: str) -> float:
    start = time.process_time()
    run(text)
    return time.process_time() - start


def growth(run: Callable[[str], object], piece: str) -> float:
    short, long = (piece * (length // len(piece)) for length in (LENGTH // 4, LENGTH))
    run(short[:1000])
    # The best of three: what else the machine does comes on top.
    return min(seconds(run, long) for _ in range(3)) / max(min(seconds(run, short) for _ in range(3)), 1e-3)


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
