import re
from collections.abc import Callable
from dataclasses import replace

import pytest
from support import synthetic_reports

from rag.reporting.html import markdown, number_format, page, wording
from rag.reporting.html.svg import name
from rag.reporting.html.view_model import Mean, Reuse

NAN = float("nan")


def test_the_headline_names_the_recommended_trial_its_interval_and_its_holdout() -> None:
    material = synthetic_reports.material(6, 40)
    row = material.chosen
    assert row is not None
    material = replace(
        material,
        trials=tuple(
            replace(one, score=Mean(0.7, 0.65, 0.75, 38), holdout=Mean(0.68, 0.6, 0.76), optimism=Mean(0.02, -0.03, 0.07))
            if one.trial_id == row.trial_id
            else one
            for one in material.trials
        ),
    )
    head = wording.headline(material)
    assert (head.lead, head.name, head.trial_id) == ("Take", row.name, row.trial_id)
    assert head.sure[0] == "ndcg@10 is .700 [.650, .750] on the 38 questions that the trials were compared on."
    assert (
        head.sure[1] == f"It is tied with {number_format.amount(len(material.verdict.tied) - 1, 'other trial')}, shaded below."
    )  # type: ignore[union-attr]
    assert head.sure[2] == (
        "On the 30 questions of the holdout, which chose nothing, it is .680 [.600, .760], +.020 [−.030, +.070] of optimism."
    )
    assert head.sure[3].startswith("That holdout has been looked at 2 times")
    dealt = replace(material, missing={"holdout": "The 70 questions name no split: 40 were dealt to tune and 30 to holdout."})
    assert wording.headline(dealt).sure[4] == dealt.missing["holdout"]


def test_tables_count_the_questions_of_tune_and_of_the_holdout() -> None:
    material = synthetic_reports.material(6, 40)
    found = page.board(material)
    asked = material.done[0].score.n
    assert (found.objective, found.holdout) == (f"ndcg@10 (n={asked})", "holdout (n=30)")
    assert f"| ndcg@10 (n={asked}) | holdout (n=30) |" in markdown.render(material)
    heads = re.findall(r'<th scope="col" class="figure">(.*?)</th>', page.render(material))
    assert heads[:3] == ["#", found.objective, found.holdout]


def test_without_a_verdict_the_first_is_not_called_a_winner() -> None:
    material = replace(
        synthetic_reports.material(3, 20), verdict=None, missing={"verdict": "The sweep did not come to its end."}
    )
    head = wording.headline(material)
    assert head.lead == "First by its mean:"
    assert head.name == material.done[0].name
    assert head.sure[-1].endswith("The sweep did not come to its end.")


def test_without_scores_there_is_nothing_to_recommend() -> None:
    material = synthetic_reports.material(3, 20)
    bare = replace(material, trials=tuple(replace(row, status="not run") for row in material.trials), verdict=None)
    head = wording.headline(bare)
    assert head.lead == "There is nothing to recommend."
    assert head.command == "rag sweep synthetic"


def test_a_broken_bound_is_named() -> None:
    material = synthetic_reports.material(1, 20)
    broken = replace(material, trials=tuple(replace(row, admitted=False) for row in material.trials))
    assert wording.headline(broken).sure[-1] == "It breaks a bound of the objective."


def test_controls_do_not_compete() -> None:
    material = synthetic_reports.material(4, 20)
    rows = (replace(material.trials[0], control="closed_book"), *material.trials[1:])
    assert material.trials[0] not in replace(material, trials=rows).done
    only = replace(material, trials=(rows[0],))
    assert only.done == (rows[0],)


def test_losses_name_the_stages_that_lost_most() -> None:
    material = synthetic_reports.material(1, 20)
    assert material.blame is not None
    counts = (0, 0, 5, 0, 2, 9, 0, 0, 1)
    said = wording.losses(replace(material, blame=replace(material.blame, counts=(counts,))))
    assert said.endswith(
        "17 of 20 questions: 9 lost in reranking, 5 not among the candidates of any index and 2 lost in fusion."
    )
    nothing = replace(material, blame=replace(material.blame, counts=((0,) * 9,)))
    assert wording.losses(nothing).endswith("solves every question that has something to find.")


def test_reuse_reads_as_people_say_it() -> None:
    material = replace(synthetic_reports.material(1, 5), reuse=Reuse(288, 513, 41, 0.0))
    assert wording.reuse(material) == "288 trials, 41 stages, 92 % reused"


@pytest.mark.parametrize(
    ("form", "value", "text"),
    [
        *(
            (number_format.signed, *case)
            for case in ((0.0412, "+.041"), (-0.03, "−.030"), (0.0, ".000"), (1.25, "+1.250"), (NAN, "–"))
        ),
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


def test_a_long_name_keeps_both_ends() -> None:
    given = "recursive-1200 · " + "something long " * 10 + "· k 10"
    shown = name(given, 40)
    assert len(shown) <= 40
    assert shown.startswith("recursive-1200")
    assert shown.endswith("· k 10")
    assert name("short") == "short"


def test_without_comparisons_no_trial_is_called_significantly_worse() -> None:
    material = synthetic_reports.material(3, 20)
    assert material.verdict is not None
    alone = replace(material.verdict, best="0" * 10, recommended="0" * 10, tied=("0" * 10,))
    assert "Every other trial is significantly worse." in wording.headline(replace(material, verdict=alone)).sure
    clocked = wording.headline(replace(material, verdict=replace(alone, family=0)))
    assert "Every other trial is significantly worse." not in clocked.sure


def test_a_recommended_trial_that_is_shown_to_be_worse_is_not_called_tied() -> None:
    """A margin or an exchange rate may choose a trial that is significantly, but little, worse than the best."""
    material = synthetic_reports.material(6, 40)
    verdict, other = material.verdict, material.trials[-1]
    assert verdict is not None
    best = material.row(verdict.best)
    assert best is not None
    changed = replace(material, verdict=replace(verdict, recommended=other.trial_id, tied=(verdict.best,)))
    assert wording.headline(changed).sure[1] == f"{best.name} is shown to be better."
