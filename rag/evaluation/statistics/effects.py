"""Effects of the choices of a sweep: each choice against the first of its axis, and interactions of two choices.

Every effect is a weighted sum of trials, question by question, so the statistics of paired differences apply to it.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar

import numpy as np

from rag.core.arrays import Floats, Ints
from rag.core.figures import figure, with_interval
from rag.core.numbers import jsonable
from rag.evaluation.statistics.paired import ALPHA, Family, family

ONE_CLUSTER = "one cluster of questions cannot show what choices do"
STRONGEST = 10
"""Interactions that are reported; the family counts all of them."""


@dataclass(frozen=True)
class Effect:
    """The mean gain of a choice over the first one of its axis, over `matched` pairs of trials that differ in nothing else.

    [low, high] is the interval corrected for the family, `p_adjusted` the adjusted p-value.
    """

    axis: str
    choice: str
    reference: str
    mean: float
    low: float
    high: float
    p_adjusted: float
    matched: int

    @property
    def name(self) -> str:
        """The axis with the choice."""
        return f"{self.axis}: {self.choice}"


@dataclass(frozen=True)
class Interaction:
    """The effect of two choices together beyond the sum of both: cell - row mean - column mean + grand mean."""

    axis: str
    choice: str
    other_axis: str
    other_choice: str
    mean: float
    low: float
    high: float
    p_adjusted: float
    reference: ClassVar[str] = "their sum"

    @property
    def name(self) -> str:
        """Both axes with their choices."""
        return f"{self.axis}: {self.choice} with {self.other_axis} {self.other_choice}"


@dataclass(frozen=True)
class Effects:
    """Effects in the order of the axes, the strongest interactions by |mean| / error, and a sentence about them.

    `family` is the number of effects and interactions that were tested; the intervals are corrected for all of them.
    """

    effects: tuple[Effect, ...]
    interactions: tuple[Interaction, ...]
    family: int
    sentence: str

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "Effects":
        """From the values of `to_json`."""
        effects, interactions = (tuple(map(_known, content[part])) for part in ("effects", "interactions"))
        pairs = tuple(Interaction(**each) for each in interactions)
        return cls(tuple(Effect(**each) for each in effects), pairs, content["family"], content["sentence"])

    def to_json(self) -> dict[str, Any]:
        """The effects as JSON values; None for NaN."""
        listed = {"effects": [vars(each) for each in self.effects], "interactions": [vars(each) for each in self.interactions]}
        return {"sentence": self.sentence, "family": self.family} | dict(jsonable(listed))


def _known(content: Mapping[str, Any]) -> dict[str, Any]:
    return {name: math.nan if value is None else value for name, value in content.items()}


@dataclass(frozen=True)
class _Contrast:
    """Two choices with their axes, the weight of every trial, and the number of settings of the other axes averaged over."""

    label: tuple[str, str, str, str]
    weights: Floats
    settings: int


def choice_effects(
    trials: Sequence[tuple[Mapping[str, str], Floats]],
    cluster: Ints,
    axes: Mapping[str, Sequence[str]],
    span: tuple[float, float] = (0.0, 1.0),
) -> Effects:
    """Effects of all choices of `axes` in trials: (choice by axis, value to maximize per question, NaN if it has none).

    A choice is compared over the pairs of trials that agree in all other choices; two axes over the settings of the other
    axes under which every pair of their choices was tried. Incomplete comparisons and untried choices are left out. A question
    counts in a comparison if all its trials have a value. `span` holds the least and the greatest possible value. Of an axis
    with two choices, interactions name one: the other is its negative.
    """
    used = {axis: {chosen[axis] for chosen, _ in trials} for axis in axes}
    tried = {axis: [choice for choice in choices if choice in used[axis]] for axis, choices in axes.items()}
    tried = {axis: choices for axis, choices in tried.items() if len(choices) > 1}
    cube = _cube([chosen for chosen, _ in trials], tried)
    singles = [contrast for axis in tried for contrast in _singles(cube, tried, axis)]
    pairs = [contrast for two in combinations(tried, 2) for contrast in _pairs(cube, tried, *two)]
    tested = _tested([*singles, *pairs], [values for _, values in trials], cluster, span)
    effects = tuple(
        Effect(axis, choice, reference, *tested.corrected(column), single.settings)
        for column, single in enumerate(singles)
        for axis, choice, _, reference in [single.label]
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        strength = np.nan_to_num(np.abs(tested.mean) / tested.error, nan=-1.0)[len(singles) :]
    strongest = np.argsort(-strength, kind="stable")[:STRONGEST].tolist()
    interactions = tuple(
        Interaction(axis, choice, other_axis, other_choice, *tested.corrected(len(singles) + row))
        for row in strongest
        for axis, choice, other_axis, other_choice in [pairs[row].label]
    )
    sentence = _sentence(tried, effects, interactions) if not effects or tested.clusters.max() > 1 else ONE_CLUSTER
    return Effects(effects, interactions, tested.size, sentence)


def _cube(trials: Sequence[Mapping[str, str]], axes: Mapping[str, Sequence[str]]) -> Ints:
    """The number of the trial with given choices, one dimension per axis; -1 if there is none."""
    cube = np.full([len(choices) for choices in axes.values()], -1, np.int64)
    for number, chosen in enumerate(trials):
        if all(chosen[axis] in choices for axis, choices in axes.items()):
            cube[tuple(choices.index(chosen[axis]) for axis, choices in axes.items())] = number
    return cube


def _singles(cube: Ints, axes: Mapping[str, Sequence[str]], axis: str) -> Iterator[_Contrast]:
    choices = axes[axis]
    rows = np.moveaxis(cube, list(axes).index(axis), 0).reshape(len(choices), -1)
    for place in range(1, len(choices)):
        both = (rows[0] >= 0) & (rows[place] >= 0)
        if matched := int(both.sum()):
            weights = np.zeros(int(cube.max()) + 1)
            weights[rows[place, both]], weights[rows[0, both]] = 1 / matched, -1 / matched
            yield _Contrast((axis, choices[place], axis, choices[0]), weights, matched)


def _pairs(cube: Ints, axes: Mapping[str, Sequence[str]], first: str, second: str) -> Iterator[_Contrast]:
    places = [list(axes).index(axis) for axis in (first, second)]
    size, width = len(axes[first]), len(axes[second])
    cells = np.moveaxis(cube, places, [0, 1]).reshape(size, width, -1)
    cells = cells[:, :, (cells >= 0).all(axis=(0, 1))]
    if not cells.shape[2]:
        return
    for row in range(size == 2, size):
        for column in range(width == 2, width):
            share = np.outer((np.arange(size) == row) - 1 / size, (np.arange(width) == column) - 1 / width)
            weights = np.zeros(int(cube.max()) + 1)
            weights[cells] = share[:, :, None] / cells.shape[2]
            yield _Contrast((first, axes[first][row], second, axes[second][column]), weights, cells.shape[2])


def _tested(contrasts: Sequence[_Contrast], values: Sequence[Floats], cluster: Ints, span: tuple[float, float]) -> Family:
    weights = np.zeros((len(values), len(contrasts)))
    for column, contrast in enumerate(contrasts):
        weights[: len(contrast.weights), column] = contrast.weights
    table = np.stack(values, axis=1) if len(values) else np.zeros((len(cluster), 0))
    lacking = np.isnan(table).astype(np.float64) @ (weights != 0) > 0
    sums = np.where(np.isnan(table), 0.0, table) @ weights
    # Sums that differ in their last bits are equal: a question that no choice moves is no evidence.
    sums[np.abs(sums) < 1e-12] = 0.0
    # The weights of a contrast add up to 0.
    most = np.abs(weights).sum(axis=0) / 2 * (span[1] - span[0])
    return family(np.where(lacking, np.nan, sums), cluster, most)


def _sentence(axes: Mapping[str, Sequence[str]], effects: Sequence[Effect], interactions: Sequence[Interaction]) -> str:
    parts: list[str] = []
    noise: list[str] = []
    unmatched: list[str] = []
    for axis in axes:
        matched = [effect for effect in effects if effect.axis == axis]
        shown = [effect for effect in matched if effect.p_adjusted <= ALPHA]
        if shown:
            best = max(shown, key=lambda effect: (effect.mean > 0, abs(effect.mean)))
            more = "" if len(shown) == 1 else f" ({len(shown) - 1} more {'differs' if len(shown) == 2 else 'differ'})"
            relation = "over" if best.mean > 0 else "against"
            parts.append(f"{axis}={best.choice} {with_interval(best, signed=True)} {relation} {best.reference}{more}")
        else:
            (noise if matched else unmatched).append(axis)
    parts += [f"{_listed(noise)} within noise"] if noise else []
    parts += [f"no two trials differ in {_listed(unmatched)} alone"] if unmatched else []
    known = [each for each in interactions if each.p_adjusted <= ALPHA]
    parts += [
        f"{each.choice} with {each.other_choice} {figure(each.mean, signed=True)} against their sum" for each in known[:1]
    ]
    return "; ".join(parts) or "nothing was varied"


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
