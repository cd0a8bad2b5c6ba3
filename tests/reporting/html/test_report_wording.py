import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from support import synthetic_reports

from rag.execution.sweep.selection import Mean
from rag.reporting import number_format
from rag.reporting.html import markdown, page, wording
from rag.reporting.html.view_model import Material

MATERIAL = synthetic_reports.material(6, 40)
(best, first), last = (MATERIAL.trials[0].trial_id, MATERIAL.trials[0].name), MATERIAL.done[-1].trial_id
HELD: dict[str, Any] = {"score": Mean(0.7, 0.65, 0.75, n=38), "holdout": Mean(0.68, 0.6, 0.76)}
SCORE = "ndcg@10 is .700 [.650, .750] on the 38 questions that the trials were compared on."
TIED = "It is tied with 2 other trials, shaded below."
AGAIN = "On the holdout (30 questions, 2 uses so far), it is .680 [.600, .760]."
EXPECTED = (
    "Expect ndcg@10 .690 [.640, .740] on new questions (out of bag, for a choice among 9 trials, 3 of them of other sweeps)."
)
WORTH: dict[str, Any] = {"expected": Mean(0.69, 0.64, 0.74), "among": 9, "before": 3}


def given(verdict: dict[str, Any] | None, row: dict[str, Any], **changes: Any) -> Material:
    """A report with another verdict, and a chosen trial with other values."""
    assert MATERIAL.verdict
    found = replace(MATERIAL, verdict=None if verdict is None else replace(MATERIAL.verdict, **verdict), **changes)
    chosen = found.chosen
    return replace(found, trials=tuple(replace(one, **row) if one is chosen else one for one in found.trials))


@pytest.mark.parametrize(
    ("material", "lead", "sure"),
    [
        (given({}, HELD), "Take", (SCORE, TIED, AGAIN)),
        (
            given({}, HELD | {"broken": ("k <= 3",)}, missing={"holdout": "The questions name no split."}),
            "Take",
            (SCORE, TIED, AGAIN, "The questions name no split.", "It breaks a bound of the objective."),
        ),
        (
            given({"tied": (best,), "recommended": best, **WORTH}, HELD | {"holdout": None}),
            "Take",
            (SCORE, "Every other trial is significantly worse.", EXPECTED),
        ),
        (given({"tied": (best,), "recommended": best, "family": 0}, HELD | {"holdout": None}), "Take", (SCORE,)),
        (given({"contradiction": "It does not hold.", "tied": ()}, HELD), "It does not hold. Take", (SCORE, AGAIN)),
        # A margin may choose a trial that is significantly, but little, worse than the best.
        (
            given({"tied": (best,), "recommended": last, "enough": False}, HELD | {"holdout": None}),
            "First so far:",
            (SCORE, f"{first} is shown to be better."),
        ),
        (
            given(None, HELD, missing={"verdict": "The sweep did not come to its end."}),
            "First by its mean:",
            (SCORE, "This order is not a verdict: the first of 6 is in part lucky. The sweep did not come to its end."),
        ),
    ],
)
def test_the_headline(material: Material, lead: str, sure: tuple[str, ...]) -> None:
    head, row = wording.headline(material), material.chosen
    assert row
    assert (head.lead, head.name, head.trial_id, head.sure) == (lead, row.name, row.trial_id, sure)


def test_tables_count_the_questions_of_tune_and_of_the_holdout_and_controls_do_not_compete() -> None:
    found = page.board(MATERIAL)
    asked = MATERIAL.done[0].score.n
    assert (found.objective, found.holdout) == (f"ndcg@10 (n={asked})", "holdout (n=30)")
    assert f"| ndcg@10 (n={asked}) | holdout (n=30) |" in markdown.render(MATERIAL)
    heads = re.findall(r'<th scope="col" class="figure">(.*?)</th>', page.render(MATERIAL))
    assert heads[:3] == ["#", found.objective, found.holdout]
    rows = (replace(MATERIAL.trials[0], control="closed_book"), *MATERIAL.trials[1:])
    assert MATERIAL.trials[0] not in replace(MATERIAL, trials=rows).done
    assert replace(MATERIAL, trials=rows[:1]).done == rows[:1]


@pytest.mark.parametrize(
    ("form", "value", "text"),
    [
        *(
            (number_format.size, *case)
            for case in ((0, "0 bytes"), (1500, "1.5 kB"), (18_440_000, "18.4 MB"), (2.5e9, "2.5 GB"))
        ),
        *((number_format.seconds, *case) for case in ((4.04, "4.0 s"), (41, "41 s"), (720, "12 min"), (12_240, "3.4 h"))),
        *((number_format.money, *case) for case in ((0, "$0.00"), (0.0123, "$0.012"), (1234.5, "$1,234.50"))),
    ],
)
def test_figures(form: Callable[[float], str], value: float, text: str) -> None:
    assert form(value) == text
