"""The laws of chunkers, for every choice in conf/chunker, with its defaults and with very small parameters."""

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.choices import choices, node

from rag.config.build import Components
from rag.core.roles import Chunker
from rag.core.types import Document
from rag.testing.retrieval import check_chunks

CHOICES = choices("chunker")
SMALL: dict[str, list[dict[str, Any]]] = {
    "fixed": [{"size": 1}, {"size": 7, "overlap": 6}],
    "markdown": [{"size": 1}, {"size": 12, "overlap": 5, "kept": [], "rows": 2}],
    "semantic": [{"least": 1, "size": 4, "window": 0}, {"least": 5, "size": 12, "percentile": 50.0}],
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
TRAPS = (
    *("\r\n", "\n\n", "\n", "\r", "\u2028", "\u0085", "\x1c", "\t", " ", ". ", "...", "?!", "。"),
    *("é", "e\u0301", "👩\u200d👩\u200d👧", "\ufeff", "\x00", "## Heading", "- item", "| a | b |", "12. ", "Word"),
    *("word", "x" * 300),
)
TEXTS = st.one_of(
    st.text(max_size=60), st.lists(st.one_of(st.sampled_from(TRAPS), st.text(max_size=8)), max_size=40).map("".join)
)


def built(choice: str, change: dict[str, Any], words: object) -> Chunker:
    parameters = node("chunker", choice, **change)
    if parameters.get("embedder"):
        parameters["embedder"] = words
    make = Components().resolve(parameters.pop("_target_"), "chunker")
    chunker = make(**parameters)
    assert isinstance(chunker, Chunker)
    return chunker


@pytest.fixture(scope="module", params=VARIANTS, ids=lambda variant: f"{variant[0]}{variant[1] or ''}")
def chunker(request: pytest.FixtureRequest, words: object) -> Chunker:
    choice, change = request.param
    return built(choice, change, words)


@given(text=TEXTS)
@example(text=MARKDOWN)
@example(text=MARKDOWN.replace("\r\n", "\n") * 30)
@example(text="no_spaces" * 400)
@example(text="?!." * 1000)
@example(text="word " * 2000)
@settings(max_examples=25, deadline=None)
def test_laws(chunker: Chunker, text: str) -> None:
    check_chunks(chunker, Document("d", text))


def test_nothing_to_read_gives_no_chunk(chunker: Chunker) -> None:
    for text in ("", " ", "\n\n\t \r\n", "\u2028\u2029\u00a0\u0085"):
        assert chunker.chunk(Document("d", text)) == []


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("text", ["x" * 1_000_000, "?!" * 100_000, "one word " * 20_000], ids=["letters", "marks", "words"])
def test_one_endless_line(choice: str, text: str, words: object) -> None:
    check_chunks(built(choice, {}, words), Document("d", text))
