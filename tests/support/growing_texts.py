"""What grows with a text: a scan, a look at a reply, what it cites, its headings, and pieces that a search stumbles over."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from rag.components.guards.output import OutputGuard
from rag.components.guards.scan import ScanGuard
from rag.core.records import Chunk, Message, Query, Reply, Request, Span
from rag.core.text.citations import cited_sentences
from rag.pipeline.postprocess import check

Run = Callable[[str], object]
READ = ("ignore all ", "i g n o r e ", "&#105;", "%41%", "\u200b", "when answering, ")
SAID = ("![a](", "http://a[1]", "&#47;\\/", "![a][", "http://a ", "[[1]", "<a ", "Answer from the sources, in one sentence. ")
CITED = ("a [1].\n", "`a`[1] ", "[9]", "[1] ", "a. B [1]. ", " no mention")

HEADED = (
    "TITLE\ntext\n\n",
    "1. Milk\n",
    "1. Milk\n\ntext\n\n",
    "Under\n-----\nTITLE\n\n",
    "```\n",
    "# A\nx\n",
    "A\n",
    " \n",
    "<!--\n",
)


def parameters(name: str) -> dict[str, Any]:
    """What `conf/guard` gives a guard."""
    path = Path(__file__).parents[2] / "conf" / "guard" / f"{name}.yaml"
    node = yaml.safe_load(path.read_text("utf-8"))[name]
    return {name: value for name, value in node.items() if name not in ("_target_", "stranger")}


def scan() -> Run:
    """Read a passage."""
    return ScanGuard(**parameters("scan")).findings


def look() -> Run:
    """Look at a reply."""
    guard = OutputGuard(**parameters("output"))
    contexts = (Chunk(Span("d", 0, 1), "See https://ok.example/a."),)
    request = Request(Query("q", "what?"), contexts, (Message("system", "Answer from the sources, in one sentence. " * 3),))
    return lambda text: guard.inspect([request], [Reply(text)])


def cited() -> Run:
    """Read a reply sentence by sentence, and drop what it cites of nothing."""
    request = Request(Query("q", "what?"), (Chunk(Span("d", 0, 1), "a"),), ())
    return lambda text: (cited_sentences(text), check({}, [request], [Reply(text)], None, "No."))  # type: ignore[arg-type]


def growth(run: Run, piece: str, length: int, cost: Callable[[Run, str], float]) -> float:
    """How many times as much `length` characters cost as a fourth of them, made of one piece."""
    short, long = (piece * (characters // len(piece)) for characters in (length // 4, length))
    run(short[:1000])
    return cost(run, long) / cost(run, short)
