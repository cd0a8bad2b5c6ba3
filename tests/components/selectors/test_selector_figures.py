"""Descriptions of figures: their weight in a ranking, and their tag in a prompt."""

import json

import pytest

from rag.components.parsers.json import JsonParser
from rag.components.selectors.figures import FiguresSelector
from rag.core.corpus import Corpus
from rag.core.errors import ConfigError
from rag.core.rankings import Rankings
from rag.core.types import Document, Span

CHUNKS = [
    ("text", "The Otter tows a trailer."),
    ("figure", "<::figure::>A chart of loads<::figure::>"),
    ("text", "Vole does not."),
]


def corpus() -> Corpus:
    """The document of a parsing service, one chunk per block."""
    where = {"box": {"left": 0.1, "top": 0.1, "right": 0.9, "bottom": 0.9}, "page": 0}
    chunks = [{"id": str(n), "type": kind, "markdown": text, "grounding": where} for n, (kind, text) in enumerate(CHUNKS)]
    parsed = JsonParser(max_values=1000).parse(json.dumps({"chunks": chunks}).encode(), "loads.json")
    document = Document("loads.json", parsed.text, parsed.metadata, parsed.blocks)
    return Corpus.of([document], [Span("loads.json", block.start, block.end) for block in parsed.blocks])


def selected(weight: float, *scores: float) -> list[tuple[int, float]]:
    hits = sorted(enumerate(scores), key=lambda hit: (-hit[1], hit[0]))
    return FiguresSelector(weight).select(Rankings.pack([hits]), corpus()).row(0)


def test_a_figure_has_a_share_of_its_score() -> None:
    assert selected(0.3, 2.0, 4.0, 1.0) == [(0, 2.0), (1, 1.2), (2, 1.0)]
    assert selected(0.7, 2.0, 4.0, 1.0) == [(1, 2.8), (0, 2.0), (2, 1.0)]
    assert selected(1, 2.0, 4.0, 1.0) == [(1, 4.0), (0, 2.0), (2, 1.0)]


def test_logits_are_weighted_from_the_lowest() -> None:
    assert selected(0.3, 1.0, 2.0, -8.0) == [(0, 1.0), (1, -5.0), (2, -8.0)]
    assert selected(0.3, -2.0, -1.0, -4.0) == [(0, -2.0), (1, -3.1), (2, -4.0)]
    assert selected(0, 0.0, -1.0, -4.0) == [(0, 0.0), (1, -4.0), (2, -4.0)]


def test_a_widened_ranking_is_an_error() -> None:
    rankings = Rankings.pack([[(0, 1.0)]])
    with pytest.raises(ConfigError, match="write figures before it"):
        FiguresSelector().select(Rankings(rankings.positions, rankings.scores, rankings.positions + 1), corpus())
