"""Slices: members, names, and shrinkage of small slices."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.core.types import Document, Evidence, Example, Query, Span, Turn
from rag.evaluation.data import slices
from rag.evaluation.data.golden import Golden

DOCUMENTS = (
    Document("a.md", "ferry", {"section": "travel", "year": 2024, "open": True}),
    Document("b.md", "bus", {"section": "pay", "year": 2025}),
    Document("c.md", "harbour"),
)
HISTORY = (Turn("user", "And before?"), Turn("assistant", "At seven."))
EXAMPLES = (
    Example(Query("q1", "When?"), (Evidence(("a.md",)),), kind="factoid", tags=("sea", "time"), split="tune"),
    Example(Query("q2", " ".join(["word"] * 9)), (Evidence((Span("b.md", 0, 3), "a.md")),), kind="table", split="tune"),
    Example(
        Query("q3", " ".join(["word"] * 16), HISTORY), (Evidence(("a.md",)), Evidence(("b.md",))), kind="table", split="holdout"
    ),
    Example(Query("q4", " ".join(["word"] * 33)), (), tags=("sea",), split="holdout"),
    Example(Query("q5", " ".join(["word"] * 17)), (Evidence(("c.md",)),), split="holdout"),
)
GOLDEN = Golden(DOCUMENTS, EXAMPLES)


def held(*dimensions: str) -> dict[str, list[str]]:
    """Ids of questions by the name of their slice."""
    return {
        part.name: [e.query.query_id for e, inside in zip(EXAMPLES, part.members, strict=True) if inside]
        for part in slices.slices_along(GOLDEN, dimensions)
    }


# Members


@pytest.mark.parametrize(
    ("dimension", "expected"),
    [
        ("kind", {"kind=factoid": ["q1"], "kind=table": ["q2", "q3"]}),
        ("tag", {"tag=sea": ["q1", "q4"], "tag=time": ["q1"]}),
        ("doc", {"doc=a.md": ["q1", "q2", "q3"], "doc=b.md": ["q2", "q3"], "doc=c.md": ["q5"]}),
        ("words", {"words=1-8": ["q1"], "words=9-16": ["q2", "q3"], "words=17-32": ["q5"], "words=33+": ["q4"]}),
        ("answerable", {"answerable=no": ["q4"], "answerable=yes": ["q1", "q2", "q3", "q5"]}),
        ("turns", {"turns=1": ["q1", "q2", "q4", "q5"], "turns=2+": ["q3"]}),
        ("split", {"split=holdout": ["q3", "q4", "q5"], "split=tune": ["q1", "q2"]}),
        ("meta.section", {"meta.section=pay": ["q2", "q3"], "meta.section=travel": ["q1", "q2", "q3"]}),
        ("meta.year", {"meta.year=2024": ["q1", "q2", "q3"], "meta.year=2025": ["q2", "q3"]}),
        ("meta.open", {"meta.open=true": ["q1", "q2", "q3"]}),
    ],
)
def test_every_dimension(dimension: str, expected: dict[str, list[str]]) -> None:
    assert held(dimension) == expected
    assert list(held(dimension)) == list(expected), "values are in their order"
    assert {part.dimension for part in slices.slices_along(GOLDEN, [dimension])} == {dimension}


def test_several_dimensions_and_missing_labels() -> None:
    assert [part.name for part in slices.slices_along(GOLDEN)] == ["kind=factoid", "kind=table"], "the default"
    names = [part.name for part in slices.slices_along(GOLDEN, ("turns", "kind", "turns"))]
    assert names == ["turns=1", "turns=2+", "kind=factoid", "kind=table"]

    silent = replace(GOLDEN, examples=tuple(replace(e, kind="", tags=(), split="") for e in EXAMPLES))
    assert slices.slices_along(silent, ("kind", "tag", "split")) == ()
    odd = replace(GOLDEN, examples=(Example(Query("q", "???")),))
    assert [part.name for part in slices.slices_along(odd, ["words"])] == ["words=1-8"]


def test_named() -> None:
    assert slices.find_slice(GOLDEN, "kind=table").members.tolist() == [False, True, True, False, False]
    assert slices.find_slice(GOLDEN, "meta.section=pay").dimension == "meta.section"


# Shrinkage


def drawn(means: list[float], errors: list[float], n: list[int], overall: float) -> list[float]:
    return slices.shrunk(np.array(means), np.array(errors), np.array(n), overall).tolist()


def test_two_slices_as_dersimonian_and_laird_have_it() -> None:
    # e = .1²; Q = 2 · .2² / .01 = 8; t = (8 - 1) / (200 - 2 · 100² / 200) = .07
    assert drawn([0.2, -0.2], [0.1, 0.1], [10, 10], 0.0) == pytest.approx([0.175, -0.175])


def test_slices_share_one_variance_of_questions() -> None:
    # The variance of a question is (4 · 5 · .2² + 19 · 20 · .05²) / 23 = 1.75 / 23, from both slices.
    one, other = 1.75 / 23 / 5, 1.75 / 23 / 20
    weight = 1 / one + 1 / other
    between = (0.5**2 / one + 0.1**2 / other - 1) / (weight - (1 / one**2 + 1 / other**2) / weight)
    expected = [0.5 * between / (between + one), -0.1 * between / (between + other)]
    assert drawn([0.5, -0.1], [0.2, 0.05], [5, 20], 0.0) == pytest.approx(expected)


def test_one_slice_equal_slices_and_small_slices() -> None:
    # (.2² / .01 - 1) / 100 = .03, so three quarters of its distance remain
    assert drawn([0.5], [0.1], [10], 0.3) == pytest.approx([0.45])
    assert drawn([0.05, -0.05, 0.02], [0.1, 0.1, 0.1], [10, 10, 10], 0.01) == pytest.approx([0.01] * 3), "chance alone"
    # Two questions that agree have no error of their own; the errors of the others are used.
    values = drawn([0.9, 0.0, -0.3], [0.0, 0.05, 0.05], [2, 50, 50], 0.0)
    assert 0 < values[0] < 0.9
    assert abs(values[2] + 0.3) < 0.05


def test_unknown_errors_and_means() -> None:
    nan = float("nan")
    assert drawn([0.5, -0.5], [nan, nan], [1, 1], 0.1) == [0.1, 0.1], "no slice has a variance of questions"
    assert drawn([0.5, -0.5], [0.0, 0.0], [3, 3], 0.1) == [0.5, -0.5], "questions do not scatter"
    values = drawn([0.3, nan], [0.01, nan], [9, 0], 0.1)
    assert values[0] == pytest.approx(0.3, abs=0.01)
    assert np.isnan(values[1])
    assert drawn([], [], [], 0.1) == []


ROWS = st.lists(st.tuples(st.floats(-1, 1), st.floats(0.01, 0.5), st.integers(1, 200)), min_size=1, max_size=8)


@given(ROWS, st.floats(-1, 1))
def test_a_slice_moves_towards_the_whole_and_never_past_it(rows: list[tuple[float, float, int]], overall: float) -> None:
    means, errors, n = (list(part) for part in zip(*rows, strict=True))
    for mean, values in zip(means, drawn(means, errors, n, overall), strict=True):
        assert min(mean, overall) - 1e-9 <= values <= max(mean, overall) + 1e-9
