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


WIDE = """\
other cccccccccc  against  base bbbbbbbbbb: 100 questions
Better: ndcg@10. Worse: iou@5; ndcg@10 by kind in table; ndcg@10 by tag in a=b. Not told apart in 1 of 5.

                                                                                       could  needs
                 n  base  this    diff  95 %              p     +/=/−  effect  shrunk   show      n
ndcg@10        100  .500  .520  +.200*  [.100, .300]  <.001  30/50/20     .12           .045    507
iou@5          100  .500  .520  -.200*  [-.300, -.100] .040  30/50/20     .12           .045    507
recall@5       100  .500  .520  +.020   [-.020, .060]  .400  30/50/20     .12           .045    507
ndcg@10 by kind
  table        100  .500  .520  -.200*  [-.300, -.100] .040  30/50/20     .12    .020   .045    507
  rare           1  .500  .520  +.020   –                 –     1/0/0       –    .020      –      –
ndcg@10 by tag
  a=b          100  .500  .520  -.200*  [-.300, -.100] .040  30/50/20     .12    .020   .045    507

5 differences were looked at together: brackets are joint 95 % intervals, p is adjusted for all of them, * is significant at
5 %. +/=/− counts questions. shrunk: what can be believed of a slice of this size, drawn towards all questions. could show: what
these questions find in 4 of 5 tries. needs n: how many find this difference. A single cluster of questions is not tested.
Not compared: 15 questions that only a candidate has: q0, q1, q2, q3, q4, q5, q6, q7, q8, q9, q10, q11 and 3 more
Not compared: 1 question that only the base has: [b]x[/b]
"""


def test_a_block_with_better_worse_and_untested_rows(shown: Shown) -> None:
    rows = [
        replace(PLAIN, **GREAT),
        replace(PLAIN, **BAD, column="iou@5"),
        replace(PLAIN, column="recall@5"),
        replace(PLAIN, **BAD, slice="kind=table"),
        replace(PLAIN, **ALONE, slice="kind=rare", n=1, clusters=1, wins=1, ties=0, losses=0),
        replace(PLAIN, **BAD, slice="tag=a=b"),
    ]
    left_out = {"added": tuple(f"q{row}" for row in range(15)), "removed": ("[b]x[/b]",)}
    assert shown(*rows, width=130, **left_out).split() == WIDE.split()


def test_a_block_where_nothing_is_told_apart(shown: Shown) -> None:
    alike = shown(PLAIN, width=120)
    assert "Not told apart. On ndcg@10 a difference of .045 would have shown.\n" in alike
    assert "\n1 difference was looked at together: " in alike
    assert "shrunk" not in alike
    untested = shown(replace(PLAIN, **ALONE, n=3, clusters=1))
    assert "3 questions in 1 cluster\n" in untested
    assert "Nothing can be told from a single cluster of questions." in untested
    none = {"difference": 0.0, "corrected_low": 0.0, "corrected_high": 0.0, "p_adjusted": 1.0, "detectable": NAN, "needed": NAN}
    same = shown(replace(PLAIN, **none))
    assert "[" not in same.split("\n\n")[1]
    assert "would have shown" not in same
    assert last(shown(replace(PLAIN, detectable=1.4)))[-2] == "none"


def last(text: str) -> list[str]:
    """The cells of the row of ndcg@10."""
    return next(line.split() for line in text.splitlines() if line.startswith("ndcg@10"))


@pytest.mark.parametrize(
    ("needed", "cell"),
    [(12.01, "13"), (9_999, "9,999"), (10_000, "10k"), (99_400, "99k"), (1e6, ">100k"), (float("inf"), "–"), (NAN, "–")],
)
def test_the_number_of_questions_that_are_needed(shown: Shown, needed: float, cell: str) -> None:
    assert last(shown(replace(PLAIN, needed=needed)))[-1] == cell


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
