"""The tables of `rag compare`: what stands in them, and what they leave out where there is no room."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rag.analysis.compare import Comparison, Table
from rag.analysis.compare.trials import Compared
from rag.evaluation.scoring import Scores
from rag.execution.sweep.trial_scores import Result
from rag.reporting import terminal
from rag.reporting.terminal import output

NAN = float("nan")
PLAIN = Comparison(
    base_name="base",
    candidate_name="other",
    column="ndcg@10",
    slice="",
    n=100,
    clusters=100,
    base_mean=0.5,
    candidate_mean=0.52,
    difference=0.02,
    low=-0.01,
    high=0.05,
    corrected_low=-0.02,
    corrected_high=0.06,
    p=0.2,
    p_adjusted=0.4,
    effect=0.12,
    wins=30,
    ties=50,
    losses=20,
    detectable=0.045,
    needed=506.3,
    shrunk=0.02,
    base_id="b" * 10,
    candidate_id="c" * 10,
)
GREAT: dict[str, Any] = {"difference": 0.2, "corrected_low": 0.1, "corrected_high": 0.3, "p_adjusted": 0.0004}
BAD: dict[str, Any] = {"difference": -0.2, "corrected_low": -0.3, "corrected_high": -0.1, "p_adjusted": 0.04}
ALONE: dict[str, Any] = dict.fromkeys(
    ("low", "high", "corrected_low", "corrected_high", "p", "p_adjusted", "effect", "detectable", "needed"), NAN
)


def shown(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, rows: list[Comparison], width: int = 80, **left: Any
) -> str:
    empty = Scores((), (), np.zeros((0, 0)), np.zeros(0, np.bool_))
    results = tuple(Result(mark * 10, name, {}, {}, empty, {}, {}) for mark, name in (("b", "base"), ("c", "other")))
    monkeypatch.setattr(output.out, "_width", width)
    capsys.readouterr()
    terminal.comparisons(Compared(results, Table(tuple(rows), sum(row.tested for row in rows), **left)))
    return capsys.readouterr().out


def line(text: str, start: str) -> list[str]:
    return next(each.split() for each in text.splitlines() if each.strip().startswith(start))


def test_a_row(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    said = shown(capsys, monkeypatch, [PLAIN], 120)
    row = "ndcg@10 100 .500 .520 +.020 [-.020, .060] .400 30/50/20 .12 .045 507"
    assert row in [" ".join(each.split()) for each in said.splitlines()]
    assert "other cccccccccc  against  base bbbbbbbbbb: 100 questions\n" in said
    assert "Not told apart. On ndcg@10 a difference of .045 would have shown.\n" in said


def test_the_sentence_says_what_is_better_and_worse(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [
        replace(PLAIN, **GREAT),
        replace(PLAIN, **BAD, column="iou@5"),
        replace(PLAIN, column="recall@5"),
        replace(PLAIN, **BAD, slice="kind=table"),
        replace(PLAIN, **BAD, slice="kind=factoid"),
        replace(PLAIN, **BAD, slice="tag=a=b"),
    ]
    said = " ".join(shown(capsys, monkeypatch, rows).split())
    expected = "Better: ndcg@10. Worse: iou@5; ndcg@10 by kind in table, factoid; ndcg@10 by tag in a=b. "
    assert expected + "Not told apart in 1 of 6." in said


def test_what_was_found_is_marked_without_colour(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    said = shown(capsys, monkeypatch, [replace(PLAIN, **GREAT), replace(PLAIN, **BAD, column="iou@5")])
    assert "+.200*" in line(said, "ndcg@10")
    assert "<.001" in line(said, "ndcg@10")
    assert "-.200*" in line(said, "iou@5")


@pytest.mark.parametrize(
    ("needed", "told"),
    [(12.01, "13"), (9_999, "9,999"), (10_000, "10k"), (99_400, "99k"), (1e6, ">100k"), (float("inf"), "–"), (NAN, "–")],
)
def test_the_number_of_questions_that_it_takes(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, needed: float, told: str
) -> None:
    assert line(shown(capsys, monkeypatch, [replace(PLAIN, needed=needed)]), "ndcg@10")[-1] == told


def test_what_cannot_be_known_is_a_dash(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    alone = replace(PLAIN, **ALONE, slice="kind=rare", n=1, clusters=1, wins=1, ties=0, losses=0)
    said = shown(capsys, monkeypatch, [PLAIN, alone])
    assert line(said, "rare") == ["rare", "1", "+.020", "–", "–", "1/0/0", "–", "–"]
    assert "A single cluster of questions is not tested." in " ".join(said.split())
    nothing = shown(capsys, monkeypatch, [replace(PLAIN, **ALONE, n=3, clusters=1)])
    assert "3 questions in 1 cluster\n" in nothing
    assert "Nothing can be told from a single cluster of questions." in nothing
    still = replace(PLAIN, difference=0.0, corrected_low=0.0, corrected_high=0.0, p_adjusted=1.0, detectable=NAN, needed=NAN)
    assert "[" not in shown(capsys, monkeypatch, [still]).split("\n\n")[1]
    assert "would have shown" not in shown(capsys, monkeypatch, [still])
    assert line(shown(capsys, monkeypatch, [replace(PLAIN, detectable=1.4)]), "ndcg@10")[-2] == "none"


def test_columns_are_left_out_whole_where_there_is_no_room(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [PLAIN, replace(PLAIN, slice="kind=table", clusters=40, column="recall@2000chars")]
    for width in (80, 100, 120):
        said = shown(capsys, monkeypatch, rows, width)
        assert max(map(len, said.splitlines())) <= width
        assert "+.020" in said
        assert ("effect" in said) == (width == 120)
        assert ("shrunk" in said) == (width > 80), "the note goes with the column"
        assert ("clus-" in said) == (width > 80)


def test_long_names_take_several_lines(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    long = replace(PLAIN, slice="doc=leave/policies/of/the/year/annual-leave.md")
    said = shown(capsys, monkeypatch, [PLAIN, long])
    assert "leave/policies/of/the/year/annual-leave.md" in "".join(line[:22].strip() for line in said.splitlines())
    assert max(map(len, said.splitlines())) <= 80


def test_questions_that_were_not_compared(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    left = {"added": tuple(f"q{row}" for row in range(15)), "removed": ("[b]x[/b]",)}
    said = " ".join(shown(capsys, monkeypatch, [PLAIN], **left).split())
    assert "15 questions that only a candidate has: q0, q1, " in said
    assert "q11 and 3 more" in said
    assert "1 question that only the base has: [b]x[/b]" in said
