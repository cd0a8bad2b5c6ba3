"""Risk and coverage against counting by hand, and the verb on a small golden set."""

import json
import math
from collections.abc import Sequence
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.command_line import Verb

from rag.analysis.abstention.curve import Aurc, Cases, area, check, choose, points


def cases(confidence: Sequence[float], losses: Sequence[float], answerable: Sequence[bool] | None = None) -> Cases:
    known = np.ones(len(losses), bool) if answerable is None else np.array(answerable)
    return Cases(np.array(confidence, float), np.array(losses, float), known, tuple(map(str, range(len(losses)))))


def aurc(confidence: Sequence[float], losses: Sequence[float]) -> float:
    return float(Aurc(np.array(confidence, float), np.array(losses, float))(np.ones((1, len(losses))))[0])


def by_counting(losses: Sequence[float]) -> float:
    """The mean risk of the first n questions, n = 1 … N."""
    return float(np.mean([np.mean(losses[:n]) for n in range(1, len(losses) + 1)]))


@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from([0.0, 0.25, 1.0])), min_size=1, max_size=6))
def test_ties_count_as_the_mean_over_their_orders(rows: list[tuple[int, float]]) -> None:
    confidence, losses = zip(*rows, strict=True)
    allowed = [
        by_counting([losses[place] for place in order])
        for order in permutations(range(len(rows)))
        if [confidence[place] for place in order] == sorted(confidence, reverse=True)
    ]
    assert aurc(confidence, losses) == pytest.approx(np.mean(allowed))


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from([0.0, 0.5, 1.0]), st.integers(0, 3)), min_size=1, max_size=8))
def test_a_question_drawn_twice_is_two_questions(rows: list[tuple[int, float, int]]) -> None:
    confidence, losses, times = zip(*rows, strict=True)
    if not sum(times):
        return
    drawn = Aurc(np.array(confidence, float), np.array(losses))(np.array([times], float))[0]
    assert drawn == pytest.approx(aurc(np.repeat(confidence, times).tolist(), np.repeat(losses, times).tolist()))


def test_the_area_of_many_questions_is_the_mean_of_risks() -> None:
    random = np.random.default_rng(1)
    confidence, losses = random.permutation(500) / 500.0, random.random(500)
    ordered = losses[np.argsort(-confidence)]
    expected = (np.cumsum(ordered) / np.arange(1, 501)).mean()
    assert aurc(confidence.tolist(), losses.tolist()) == pytest.approx(expected)
    result = area(cases(confidence.tolist(), losses.tolist()), draws=200)
    assert result.aurc.value == pytest.approx(expected)
    assert result.best == pytest.approx((np.cumsum(np.sort(losses)) / np.arange(1, 501)).mean())
    assert result.best < result.aurc.low < result.aurc.value < result.aurc.high
    assert result.chance == pytest.approx(losses.mean())
    assert math.isnan(result.auc.value)
    assert aurc([1] * 4, [0, 1, 0, 0]) == pytest.approx(1 / 4), "equal confidences have the area of chance"


SIX = cases([9, 8, 8, 7, 6, 5], [0, 1, 0.5, 0, 1, 1], [True, False, True, True, False, True])


def test_points_by_hand() -> None:
    assert [(point.threshold, point.coverage, point.risk) for point in points(SIX)[1:]] == [
        (8.5, pytest.approx(1 / 6), 0),
        (7.5, pytest.approx(3 / 6), pytest.approx(0.5)),
        (6.5, pytest.approx(4 / 6), pytest.approx(1.5 / 4)),
        (5.5, pytest.approx(5 / 6), pytest.approx(2.5 / 5)),
        (-math.inf, 1, pytest.approx(3.5 / 6)),
    ]
    shares = [(point.answered, point.declined, point.value) for point in points(SIX)]
    assert shares == [
        (0, 1, pytest.approx(2 / 6)),
        (1 / 4, 1, pytest.approx(3 / 6)),
        (2 / 4, 1 / 2, pytest.approx(2.5 / 6)),
        (3 / 4, 1 / 2, pytest.approx(3.5 / 6)),
        (3 / 4, 0, pytest.approx(2.5 / 6)),
        (1, 0, pytest.approx(2.5 / 6)),
    ]


def test_choosing() -> None:
    curve = points(SIX)
    assert choose(curve).threshold == 6.5
    assert choose(curve, risk=0.5).threshold == 5.5
    assert choose(curve, risk=0.1).threshold == 8.5
    assert choose(curve, risk=1).threshold == -math.inf
    assert choose(points(cases([1, 2], [1, 1])), risk=0.5).coverage == 0
    assert choose(points(cases([3, 2, 1], [0, 1, 1]))).threshold == -math.inf, "of equal thresholds the one that answers most"


@given(
    st.lists(st.tuples(st.integers(0, 4), st.sampled_from([0.0, 0.5, 1.0]), st.booleans()), min_size=2, max_size=12),
    st.integers(0, 12),
)
def test_a_point_agrees_with_the_check_of_its_threshold(rows: list[tuple[int, float, bool]], which: int) -> None:
    confidence, losses, known = zip(*rows, strict=True)
    everything = cases(confidence, [loss if own else 1.0 for loss, own in zip(losses, known, strict=True)], known)
    curve = points(everything)
    point = curve[which % len(curve)]
    held = check(everything, point.threshold, draws=20)
    for name in ("coverage", "risk", "answered", "declined", "value"):
        assert getattr(held, name).value == pytest.approx(getattr(point, name), nan_ok=True)
    assert held.gain.value == pytest.approx(point.value - curve[-1].value)
    assert max(curve, key=lambda each: each.value).value == pytest.approx(choose(curve).value)


SMALL = ("embedder=hashing", "embedder.dimensions=64", "index=[dense]", "fusion=single", "chunker=whole", "k=2")


def test_the_verb_chooses_on_tune_and_checks_on_holdout(rag: Verb, golden: Path, here: Path) -> None:
    given_ = ("dataset=native", f"dataset.path={golden}", *SMALL)
    report = rag("abstention", *given_, "--json").json
    assert report["correct"] == "evidence_cited"
    counts = {name: (part["questions"], part["unanswerable"]) for name, part in report["splits"].items()}
    assert counts == {"tune": (3, 1), "holdout": (3, 0)}
    assert report["chosen"] in report["curve"]
    assert report["splits"]["holdout"]["auc"]["value"] is None
    assert len([path for path in Path(".rag/store/looks").rglob("*") if path.is_file()]) == 1
    again = rag("abstention", *given_, "check=[retrieval_floor]", "check.retrieval_floor.floor=1.0", "--json").json
    assert (again["splits"], again["curve"]) == (report["splits"], report["curve"])
    shown = rag("abstention", *given_, "--risk", "0.5")
    assert shown.code == 0
    assert "Chosen on tune for the greatest coverage with a risk of at most 0.5" in " ".join(shown.out.split())
    other = rag("abstention", *given_, "--correct", "exact_match", "--json")
    assert json.loads(other.out)["unscored"] == 1


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("generator=none",), "generates nothing"),
        (("--risk", "2"), "a mean loss, from 0 to 1"),
        (("--correct", "elegance"), "elegance"),
    ],
)
def test_bad_input(rag: Verb, golden: Path, here: Path, arguments: Sequence[str], error: str) -> None:
    said = rag("abstention", "dataset=native", f"dataset.path={golden}", *SMALL, *arguments)
    assert (said.code, error in said.err) == (2, True)
