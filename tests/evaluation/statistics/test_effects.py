"""Effects of choices: complete and incomplete tables with known effects."""

import itertools
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from rag.evaluation.statistics import effects
from rag.evaluation.statistics.effects import Effects

Floats = NDArray[np.float64]
Trials = list[tuple[Mapping[str, str], Floats]]

AXES = {"chunker": ["small", "large"], "search": ["bm25", "dense", "rrf"], "reranker": ["none", "maxsim"]}
QUESTIONS = 60
ALONE = np.arange(QUESTIONS)


def trials(score: Callable[..., float], axes: Mapping[str, Sequence[str]] = AXES, noise: float = 0.02) -> Trials:
    """Every combination; each question has its own difficulty, and its own effect of every choice."""
    random = np.random.default_rng(3)
    base = random.random(QUESTIONS)
    taste = {(axis, choice): random.normal(0, noise, QUESTIONS) for axis, choices in axes.items() for choice in choices}
    made: Trials = []
    for picked in itertools.product(*axes.values()):
        choices = dict(zip(axes, picked, strict=True))
        made.append((choices, base + score(**choices) + sum(taste[pair] for pair in choices.items())))
    return made


def additive(chunker: str, search: str, reranker: str) -> float:
    return 0.2 * (search == "rrf") - 0.1 * (search == "dense") + 0.3 * (reranker == "maxsim")


def only_with_dense(chunker: str, search: str, reranker: str) -> float:
    return 0.3 * (search == "dense" and reranker == "maxsim")


def by_choice(result: Effects) -> dict[str, float]:
    return {f"{effect.axis}={effect.choice}": effect.mean for effect in result.effects}


def test_effects_are_differences_of_means_over_matched_trials() -> None:
    made = trials(additive)
    result = effects.choice_effects(made, ALONE, AXES)

    def mean(axis: str, choice: str) -> float:
        return float(np.mean([values for choices, values in made if choices[axis] == choice]))

    for effect in result.effects:
        assert effect.reference == AXES[effect.axis][0]
        assert effect.mean == pytest.approx(mean(effect.axis, effect.choice) - mean(effect.axis, effect.reference))
        assert effect.low <= effect.mean <= effect.high
    assert [(e.axis, e.choice) for e in result.effects] == [
        ("chunker", "large"),
        ("search", "dense"),
        ("search", "rrf"),
        ("reranker", "maxsim"),
    ]
    assert [effect.matched for effect in result.effects] == [6, 4, 4, 6]


def test_a_sum_has_no_interactions() -> None:
    result = effects.choice_effects(trials(additive), ALONE, AXES)
    assert all(abs(interaction.mean) < 1e-12 and interaction.p_adjusted == 1 for interaction in result.interactions)
    # 4 effects; of 2 x 3, 2 x 2 and 3 x 2 cells those that are not the negative of another: 3 + 1 + 3.
    assert result.family == 11
    assert "search=rrf +.2" in result.sentence
    assert "over bm25" in result.sentence
    assert "reranker=maxsim +.2" in result.sentence
    assert "chunker within noise" in result.sentence
    assert "their sum" not in result.sentence
    alone = effects.choice_effects(trials(additive), np.zeros(QUESTIONS, np.int64), AXES)  # one cluster has no interval
    for each in (result, alone):
        assert Effects.from_json(each.to_json()).to_json() == each.to_json()


def test_an_interaction_is_the_difference_of_a_cell_from_row_and_column() -> None:
    made = trials(only_with_dense, noise=0.0)
    for row, (_, values) in enumerate(made):
        values += np.random.default_rng(row).normal(0, 0.01, QUESTIONS)
    result = effects.choice_effects(made, ALONE, AXES)
    strongest = result.interactions[0]
    assert {strongest.choice, strongest.other_choice} == {"dense", "maxsim"}
    # A bonus in one of six cells: .3 · (1 - 1/3) · (1 - 1/2).
    assert strongest.mean == pytest.approx(0.1, abs=0.01)
    assert strongest.p_adjusted == min(each.p_adjusted for each in result.interactions) <= 0.05
    clear = [abs(each.mean) / max(each.high - each.low, 1e-9) for each in result.interactions]
    assert clear[0] > 3 * clear[-1], "the strongest interactions come first"
    assert result.sentence.endswith(f"dense with maxsim +{strongest.mean:.3f} against their sum".replace("0.", "."))


def test_incomplete_groups_are_left_out() -> None:
    made = trials(additive)
    missing = {"chunker": "large", "search": "rrf", "reranker": "maxsim"}
    kept = [(choices, values) for choices, values in made if choices != missing]
    result = effects.choice_effects(kept, ALONE, AXES)
    assert [effect.matched for effect in result.effects] == [5, 4, 3, 5]
    expected = effects.choice_effects(made, ALONE, AXES)
    # Scores are sums, so all matched pairs agree; unmatched means do not.
    assert by_choice(result) == pytest.approx(by_choice(expected))
    unmatched = np.mean([v for c, v in kept if c["reranker"] == "maxsim"]) - np.mean(
        [v for c, v in kept if c["reranker"] == "none"]
    )
    assert abs(unmatched - by_choice(result)["reranker=maxsim"]) > 0.01
    assert all(abs(interaction.mean) < 1e-12 for interaction in result.interactions)
    # A choice without trials is left out.
    kept = [(choices, values) for choices, values in trials(additive) if choices["search"] != "bm25"]
    result = effects.choice_effects(kept, ALONE, AXES)
    assert [(e.choice, e.reference) for e in result.effects if e.axis == "search"] == [("rrf", "dense")]


def test_axes_that_were_never_varied_alone_are_named() -> None:
    tied = [(c, v) for c, v in trials(additive) if (c["chunker"] == "large") == (c["reranker"] == "maxsim")]
    result = effects.choice_effects(tied, ALONE, AXES)
    assert {effect.axis for effect in result.effects} == {"search"}
    assert "no two trials differ in chunker and reranker alone" in result.sentence
    assert not [
        interaction for interaction in result.interactions if "search" not in (interaction.axis, interaction.other_axis)
    ]


def test_questions_without_a_value_do_not_count() -> None:
    made = trials(additive)
    holes = [(choices, np.where(ALONE < 20, np.nan, values)) for choices, values in made]
    short = [(choices, values[20:]) for choices, values in made]
    assert effects.choice_effects(holes, ALONE, AXES).to_json() == effects.choice_effects(short, ALONE[:40], AXES).to_json()
    one = [(choices, np.where((ALONE < 20) & (row == 0), np.nan, values)) for row, (choices, values) in enumerate(made)]
    lacking = effects.choice_effects(one, ALONE, AXES)
    # The first trial, of first choices only, stands in every comparison.
    assert by_choice(lacking) == pytest.approx(by_choice(effects.choice_effects(short, ALONE[:40], AXES)))
