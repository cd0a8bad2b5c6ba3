"""What became of every passage: read, cut out by a screen or the budget, passed over, dropped by a step."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from support.small_server import QUESTION, small_bundle

from rag.bundle.open_bundle import open_bundle
from rag.core.rankings import NOTHING, Rankings
from rag.core.types import Finding, Query, Ranking
from rag.pipeline.pipeline import Pipeline
from rag.pipeline.shapes.passage_fates import passage_fates


class Distrusting:
    """Quarantines the first passage."""

    def screen(self, queries: Sequence[Query], contexts: Sequence[Ranking]) -> list[list[Finding]]:
        return [[Finding("nose", "smells", "quarantine", context=1)] for _ in queries]


class Dropping:
    """Drops the second passage of a ranking."""

    def select(self, rankings: Rankings, corpus: object) -> Rankings:
        places = rankings.positions.copy()
        places[:, 1] = NOTHING
        return Rankings.ordered(places, rankings.scores, places.shape[1])


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Pipeline:
    """Passages of 60 characters, of which two are read."""
    folder = tmp_path_factory.mktemp("fates")
    return open_bundle(small_bundle(folder, "generator=extractive", "chunker=fixed", "chunker.size=60", "k=2")).pipeline


def whys(pipeline: Pipeline) -> list[tuple[int | None, str]]:
    """The number and the fate of the first passages."""
    query = Query("q", QUESTION)
    trace = pipeline.trace(query)
    told = passage_fates(pipeline, trace, pipeline.answer_from(query, trace))
    assert all(one["kept"] == (one["number"] is not None) for one in told)
    assert all(one["text"] == pipeline.corpus.text(_position(pipeline, one["chunk"])) for one in told)
    return [(one["number"], one["why"]) for one in told]


def _position(pipeline: Pipeline, chunk_id: str) -> int:
    return next(place for place in range(len(pipeline.corpus)) if pipeline.corpus.chunk(place).chunk_id == chunk_id)


def test_those_behind_the_first_k_are_passed_over(pipeline: Pipeline) -> None:
    assert whys(pipeline)[:3] == [
        (1, "read as source 1"),
        (2, "read as source 2"),
        (None, "after fusion it is passage 3, and the first 2 are read"),
    ]


def test_what_a_screen_took_out_says_why(pipeline: Pipeline) -> None:
    screened = replace(pipeline, reading=replace(pipeline.reading, screens={"nose": Distrusting()}))
    assert whys(screened)[:2] == [(1, "read as source 1"), (None, "quarantined by nose: smells")]


def test_what_a_step_dropped_says_which(pipeline: Pipeline) -> None:
    found = whys(replace(pipeline, selectors={"dropping": Dropping()}))
    assert (None, "dropped by the selector: after fusion it was passage 2") in found
    assert found[2] == (None, "after selection it is passage 3, and the first 2 are read")
