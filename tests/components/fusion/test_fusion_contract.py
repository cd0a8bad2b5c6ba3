"""The laws of fusions, for every choice in conf/fusion."""

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from rag.config.build import Components
from rag.core.rankings import NOTHING, Rankings
from rag.core.roles import Fusion, changes_nothing

LAW = settings(max_examples=40, deadline=None)  # a busy machine is no failure

CONF = Path(__file__).parents[3] / "conf" / "fusion"
NODES = {path.stem: yaml.safe_load(path.read_text(encoding="utf-8")) for path in sorted(CONF.glob("*.yaml"))}
CHOICES = list(NODES)
CHANGES: dict[str, list[dict[str, Any]]] = {
    "single": [{"index": "one"}, {"index": "two"}],
    "rrf": [{}, {"k": 0}, {"weights": [0.2, 3.0]}, {"weights": [0, 1]}],
    "weighted": [{}, {"normalisation": "max"}, {"normalisation": "z"}, {"weights": [1.0, 0.0]}],
}
VARIANTS = [(choice, change) for choice in CHOICES for change in CHANGES.get(choice, [{}])]

SCORES = st.sampled_from([-7.5, -1.0, 0.0, 0.1, 0.1000004, 0.5, 1.0, 23.75])
ROWS = st.dictionaries(st.integers(0, 9), SCORES, max_size=7)
PAIRS = st.lists(st.tuples(ROWS, ROWS), max_size=4)


def fusion_of(choice: str, change: dict[str, Any]) -> Fusion:
    fusion = Components().role("fusion", {**NODES[choice], **change})
    assert isinstance(fusion, Fusion)
    return fusion


def rankings_of(pairs: list[tuple[dict[int, float], dict[int, float]]]) -> dict[str, Rankings]:
    def ranking(rows: list[dict[int, float]]) -> Rankings:
        hits = [Rankings.ordered([[*row, NOTHING]], [[*row.values(), -np.inf]], 99).row(0) for row in rows]
        return Rankings.pack(hits)

    return {"one": ranking([pair[0] for pair in pairs]), "two": ranking([pair[1] for pair in pairs])}


@pytest.mark.parametrize("choice", CHOICES)
def test_yaml_writes_out_the_defaults(choice: str) -> None:
    fusion, written = fusion_of(choice, {}), NODES[choice]
    for name, parameter in inspect.signature(type(fusion)).parameters.items():
        default = list(parameter.default) if isinstance(parameter.default, tuple) else parameter.default
        assert written[name] == default, name
    assert not changes_nothing(fusion)


@pytest.mark.parametrize(("choice", "change"), VARIANTS)
class TestEveryFusion:
    @LAW
    @given(PAIRS, st.integers(0, 12))
    def test_fused_rankings_are_lawful(self, choice: str, change: dict[str, Any], pairs: list[Any], depth: int) -> None:
        given_rankings = rankings_of(pairs)
        fused = fusion_of(choice, change).fuse(given_rankings, depth)
        assert (fused.positions.dtype, fused.scores.dtype) == (np.int32, np.float64)
        assert fused.positions.shape == fused.scores.shape
        assert len(fused) == len(pairs)
        assert fused.positions.shape[1] <= depth
        for question, pair in enumerate(pairs):
            hits = fused.row(question)
            assert hits == sorted(hits, key=lambda hit: (-hit[1], hit[0]))
            assert len({position for position, _ in hits}) == len(hits)
            assert {position for position, _ in hits} <= {*pair[0], *pair[1]}, "a fusion adds nothing"
            assert (fused.positions[question, len(hits) :] == NOTHING).all()
            assert np.isneginf(fused.scores[question, len(hits) :]).all()
            assert np.isfinite(fused.scores[question, : len(hits)]).all()

    @LAW
    @given(PAIRS)
    def test_nothing_is_lost_where_there_is_room(self, choice: str, change: dict[str, Any], pairs: list[Any]) -> None:
        fused = fusion_of(choice, change).fuse(rankings_of(pairs), 99)
        for question, (one, two) in enumerate(pairs):
            expected = {"one": {*one}, "two": {*two}}.get(change.get("index", ""), {*one, *two})
            assert {position for position, _ in fused.row(question)} == expected

    @LAW
    @given(PAIRS, st.integers(1, 12))
    def test_one_question_alone_is_one_question_among_many(
        self, choice: str, change: dict[str, Any], pairs: list[Any], depth: int
    ) -> None:
        fusion = fusion_of(choice, change)
        together = fusion.fuse(rankings_of(pairs), depth)
        for question, pair in enumerate(pairs):
            assert fusion.fuse(rankings_of([pair]), depth).row(0) == together.row(question)

    @LAW
    @given(PAIRS, st.integers(1, 6))
    def test_a_smaller_depth_is_a_prefix_and_inputs_stay_as_they_were(
        self, choice: str, change: dict[str, Any], pairs: list[Any], depth: int
    ) -> None:
        fusion, rankings = fusion_of(choice, change), rankings_of(pairs)
        deep, shallow = fusion.fuse(rankings, 99), fusion.fuse(rankings, depth)
        assert [shallow.row(question) for question in range(len(pairs))] == [
            deep.row(question)[:depth] for question in range(len(pairs))
        ]
        for name, ranking in rankings_of(pairs).items():
            assert rankings[name].positions.tolist() == ranking.positions.tolist()
            assert rankings[name].scores.tolist() == ranking.scores.tolist()
