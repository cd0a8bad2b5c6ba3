"""The laws of chunkers, for every choice in conf/chunker, with its defaults and with parameters small enough to bite."""

import importlib
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rag.core.records import Document, Span
from rag.core.roles import Chunker

CONF = Path(__file__).parents[3] / "conf" / "chunker"
CHOICES = sorted(path.stem for path in CONF.glob("*.yaml"))
SMALL: dict[str, list[dict[str, Any]]] = {
    "fixed": [{"size": 1}, {"size": 7, "overlap": 6}],
    "recursive": [{"size": 1}, {"size": 12, "overlap": 5}, {"size": 20, "separators": ["\n## ", " "]}],
    "sentence": [{"sentences": 1, "step": 1}, {"sentences": 3, "step": 1}],
    "token": [{"target": 1, "max": 1}, {"target": 5, "max": 8, "overlap": 3}],
}
VARIANTS = [(choice, change) for choice in CHOICES for change in [{}, *SMALL.get(choice, [])]]

MARKDOWN = """\
# Leave  handbook\r
\r
Dr. Ames wrote this, e.g. for new staff. It costs £3.50 a day! Does it? Yes.\r
\r
## Table\r
\r
| band | days |\r
| --- | --- |\r
| A | 26 |\r
\r
1. First do this.\r
2. Then do that: see https://example.org/a?b=c.\r
   - nested item without an end\r
\r
```python\r
x = 1\r
```\r
> A quotation\u2028over two lines\u2029and a third.\r
\r
"""
TRAPS = [
    "\r\n",
    "\n\n",
    "\n",
    "\r",
    "\u2028",
    "\u0085",
    "\x1c",
    "\t",
    " ",
    ". ",
    "...",
    "?!",
    "。",
    "é",
    "e\u0301",
    "👩\u200d👩\u200d👧",
    "\ufeff",
    "\x00",
]
PIECES = st.one_of(
    st.sampled_from([*TRAPS, "## Heading", "- item", "| a | b |", "12. ", "Word", "word", "x" * 300]), st.text(max_size=8)
)
TEXTS = st.one_of(st.text(max_size=60), st.lists(PIECES, max_size=40).map("".join))


def built(choice: str, change: dict[str, Any], words: object) -> Chunker:
    """A chunker as its YAML describes it, with some parameters changed."""
    node = yaml.safe_load((CONF / f"{choice}.yaml").read_text(encoding="utf-8")) | change
    module, _, name = node.pop("_target_").rpartition(".")
    parameters = {key: words if value == "${embedder}" else value for key, value in node.items()}
    chunker = getattr(importlib.import_module(module), name)(**parameters)
    assert isinstance(chunker, Chunker)
    return chunker


@pytest.fixture(scope="module", params=VARIANTS, ids=lambda variant: f"{variant[0]}{variant[1] or ''}")
def chunker(request: pytest.FixtureRequest, words: object) -> Chunker:
    choice, change = request.param
    return built(choice, change, words)


def check(text: str, spans: list[Span]) -> None:
    """Every law that holds for the chunks of one document."""
    covered = 0
    previous = Span("d", 0, 0)
    for span in spans:
        assert span.doc_id == "d"
        assert 0 <= span.start < span.end <= len(text), "a span quotes its document"
        assert text[span.start : span.end].strip(), "a chunk has something to read"
        assert span.start >= previous.start, "no start steps back"
        assert span.end >= previous.end, "no end steps back"
        assert not text[covered : span.start].strip(), "nothing is left out"
        covered, previous = max(covered, span.end), span
    assert not text[covered:].strip(), "nothing is left out at the end"
    assert len(set(spans)) == len(spans), "no span twice"


@given(text=TEXTS)
@example(text=MARKDOWN)
@example(text=MARKDOWN.replace("\r\n", "\n") * 30)
@example(text="no_spaces" * 400)
@example(text="?!." * 1000)
@example(text="word " * 2000)
@settings(max_examples=60, deadline=None)
def test_laws(chunker: Chunker, text: str) -> None:
    spans = chunker.chunk(Document("d", text))
    check(text, spans)
    assert spans == chunker.chunk(Document("d", text))


@pytest.mark.parametrize("text", ["", " ", "\n\n\t \r\n", "\u2028\u2029\u00a0\u0085"])
def test_nothing_to_read_gives_no_chunk(chunker: Chunker, text: str) -> None:
    assert chunker.chunk(Document("d", text)) == []


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("text", ["x" * 5_000_000, "?!" * 500_000, "one word " * 100_000], ids=["letters", "marks", "words"])
def test_one_endless_line(choice: str, text: str, words: object) -> None:
    spans = built(choice, {}, words).chunk(Document("d", text))
    check(text, spans)
