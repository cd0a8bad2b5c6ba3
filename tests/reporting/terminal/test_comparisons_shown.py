"""The tables of `rag study compare`: their cells, and the columns that are left out on a narrow terminal."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from reporting.terminal.comparison_rows import PLAIN, compared

from rag.analysis.compare import Comparison
from rag.reporting.terminal import output
from rag.reporting.terminal.comparisons import comparisons

NAN = float("nan")
GREAT: dict[str, Any] = {"difference": 0.2, "corrected_low": 0.1, "corrected_high": 0.3, "p_adjusted": 0.0004}
BAD: dict[str, Any] = {"difference": -0.2, "corrected_low": -0.3, "corrected_high": -0.1, "p_adjusted": 0.04}
ALONE: dict[str, Any] = dict.fromkeys(
    ("low", "high", "corrected_low", "corrected_high", "p", "p_adjusted", "effect", "detectable", "needed"), NAN
)
Shown = Callable[..., str]


@pytest.fixture
def shown(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shown:
    """The output for some rows on a terminal of some width."""

    def show(*rows: Comparison, width: int = 80, **left_out: Any) -> str:
        monkeypatch.setattr(output.out, "_width", width)
        capsys.readouterr()
        comparisons(compared(rows, **left_out))
        return capsys.readouterr().out

    return show


def cells(text: str, name: str) -> list[str]:
    """The cells of the first row whose name begins like this."""
    return next(line.split() for line in text.splitlines() if line.strip().startswith(name))


def test_a_row(shown: Shown) -> None:
    text = shown(PLAIN, width=120)
    row = "ndcg@10 100 .500 .520 +.020 [-.020, .060] .400 30/50/20 .12 .045 507"
    assert row in [" ".join(line.split()) for line in text.splitlines()]
    assert "other cccccccccc  against  base bbbbbbbbbb: 100 questions\n" in text
    assert "Not told apart. On ndcg@10 a difference of .045 would have shown.\n" in text


def test_significant_rows_are_named_in_a_sentence_and_marked_without_colour(shown: Shown) -> None:
    slices = [replace(PLAIN, **BAD, slice=name) for name in ("kind=table", "kind=factoid", "tag=a=b")]
    text = shown(replace(PLAIN, **GREAT), replace(PLAIN, **BAD, column="iou@5"), replace(PLAIN, column="recall@5"), *slices)
    expected = "Better: ndcg@10. Worse: iou@5; ndcg@10 by kind in table, factoid; ndcg@10 by tag in a=b. "
    assert expected + "Not told apart in 1 of 6." in " ".join(text.split())
    assert {"+.200*", "<.001"} <= set(cells(text.split("\n\n", 1)[1], "ndcg@10"))
    assert "-.200*" in cells(text.split("\n\n", 1)[1], "iou@5")


@pytest.mark.parametrize(
    ("needed", "cell"),
    [(12.01, "13"), (9_999, "9,999"), (10_000, "10k"), (99_400, "99k"), (1e6, ">100k"), (float("inf"), "–"), (NAN, "–")],
)
def test_the_number_of_questions_that_are_needed(shown: Shown, needed: float, cell: str) -> None:
    assert cells(shown(replace(PLAIN, needed=needed)), "ndcg@10")[-1] == cell


def test_unknown_values_are_dashes(shown: Shown) -> None:
    text = shown(PLAIN, replace(PLAIN, **ALONE, slice="kind=rare", n=1, clusters=1, wins=1, ties=0, losses=0))
    assert cells(text, "rare") == ["rare", "1", "+.020", "–", "–", "1/0/0", "–", "–"]
    assert "A single cluster of questions is not tested." in " ".join(text.split())
    untested = shown(replace(PLAIN, **ALONE, n=3, clusters=1))
    assert "3 questions in 1 cluster\n" in untested
    assert "Nothing can be told from a single cluster of questions." in untested
    same = shown(
        replace(PLAIN, difference=0.0, corrected_low=0.0, corrected_high=0.0, p_adjusted=1.0, detectable=NAN, needed=NAN)
    )
    assert "[" not in same.split("\n\n")[1]
    assert "would have shown" not in same
    assert cells(shown(replace(PLAIN, detectable=1.4)), "ndcg@10")[-2] == "none"


def test_columns_are_left_out_whole_and_long_names_are_broken(shown: Shown) -> None:
    rows = [PLAIN, replace(PLAIN, slice="kind=table", clusters=40, column="recall@2000chars")]
    for width in (80, 100, 120):
        text = shown(*rows, width=width)
        assert max(map(len, text.splitlines())) <= width
        assert "+.020" in text
        assert ("effect" in text) == (width == 120)
        assert ("shrunk" in text) == (width > 80), "the note goes with the column"
        assert ("clus-" in text) == (width > 80)
    name = "leave/policies/of/the/year/annual-leave.md"
    lines = shown(PLAIN, replace(PLAIN, slice=f"doc={name}")).splitlines()
    assert name in "".join(line.strip().split("  ")[0] for line in lines)
    assert max(map(len, lines)) <= 80


def test_questions_that_were_not_compared(shown: Shown) -> None:
    left_out = {"added": tuple(f"q{row}" for row in range(15)), "removed": ("[b]x[/b]",)}
    text = " ".join(shown(PLAIN, **left_out).split())
    assert "15 questions that only a candidate has: q0, q1, " in text
    assert "q11 and 3 more" in text
    assert "1 question that only the base has: [b]x[/b]" in text
