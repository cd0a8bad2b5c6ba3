"""Functions whose time grows with a text (scan, reply check, citations, headings), and texts that are slow to search."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import yaml

from rag.components.guards.output import OutputGuard
from rag.components.guards.scan import ScanGuard
from rag.core.text.citations import cited_sentences
from rag.core.types import Chunk, Message, Query, Reply, Request, Span
from rag.pipeline.prompt.postprocess import check

Run = Callable[[str], object]
READ = ("ignore all ", "i g n o r e ", "&#105;", "%41%", "\u200b", "when answering, ")
SAID = ("![a](", "http://a[1]", "&#47;\\/", "![a][", "http://a ", "[[1]", "<a ", "Answer from the sources, in one sentence. ")
CITED = ("a [1].\n", "`a`[1] ", "[9]", "[1] ", "a. B [1]. ", " no mention")

HEADED = (
    *("TITLE\ntext\n\n", "1. Milk\n", "1. Milk\n\ntext\n\n", "Under\n-----\nTITLE\n\n", "```\n", "# A\nx\n", "A\n"),
    *(" \n", "<!--\n"),
)

BLOCKS = (
    *("| a | b |\n|--|--|\n| 1 | 2 |\n\n", "| a | b |\n|--|\n| | |\n", "Table 1. C\n\n| a |\n|--|\n"),
    *("- a\n  - b\n", "this:\n\n- x\n\n"),
    *("# A\n## B\n", "1.1 Title\n\nText\n\n", "```\n# x\n", "> said\n\n— Ames\n\n", "see [^1].\n\n[^1]: n\n\n", "[^1]: n\n"),
    *("word ", "x", "日本語。", "نص عربي. ", "\u2028a"),
)


def parameters(name: str) -> dict[str, Any]:
    """The parameters of a guard in `conf/guard`."""
    path = Path(__file__).parents[2] / "conf" / "guard" / f"{name}.yaml"
    node = yaml.safe_load(path.read_text("utf-8"))[name]
    return {name: value for name, value in node.items() if name not in ("_target_", "stranger")}


def scan() -> Run:
    """A scan of a passage."""
    return ScanGuard(**parameters("scan")).findings


def look() -> Run:
    """A check of a reply."""
    guard = OutputGuard(**parameters("output"))
    contexts = (Chunk(Span("d", 0, 1), "See https://ok.example/a."),)
    request = Request(Query("q", "what?"), contexts, (Message("system", "Answer from the sources, in one sentence. " * 3),))
    return lambda text: guard.inspect([request], [Reply(text)])


def cited() -> Run:
    """Split a reply into sentences and drop citations without a source."""
    request = Request(Query("q", "what?"), (Chunk(Span("d", 0, 1), "a"),), ())
    return lambda text: (cited_sentences(text), check({}, [request], [Reply(text)], None, "No."))  # type: ignore[arg-type]


def growth(run: Run, piece: str, length: int, cost: Callable[[Run, str], float]) -> float:
    """The cost of `length` characters divided by the cost of a fourth of them, both made of one piece."""
    short, long = (piece * (characters // len(piece)) for characters in (length // 4, length))
    run(short[:1000])
    return cost(run, long) / cost(run, short)


def calls(run: Run, text: str) -> int:
    """Functions that are called, of Python and of C."""
    count = 0

    def called(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(called)
    try:
        run(text)
    finally:
        sys.setprofile(None)
    return count
