"""What the choices of a sweep do: every choice against the first of its axis, and pairs of choices against their sum.

Every effect is a weighted sum of trials, question by question, so that the statistics of paired differences apply to it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag.evaluation.statistics.paired import ALPHA, Family, family

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ONE_CLUSTER = "one cluster of questions does not tell what choices do"
STRONGEST = 10
"""Interactions that are told, of however many were looked at."""


@dataclass(frozen=True)
class Effect:
    """By how much a choice is better than the first of its axis, over `matched` pairs of trials that differ in nothing else.

    [low, high] is the interval that holds beside all others of the family, `p_adjusted` the adjusted p-value.
    """

    axis: str
    choice: str
    reference: str
    mean: float
    low: float
    high: float
    p_adjusted: float
    matched: int


@dataclass(frozen=True)
class Interaction:
    """By how much two choices together differ from the sum of what each does on average: cell - row - column + grand mean."""

    axis: str
    choice: str
    other_axis: str
    other_choice: str
    mean: float
    low: float
    high: float
    p_adjusted: float


@dataclass(frozen=True)
class Effects:
    """Effects in the order of the axes, the strongest interactions by |mean| / error, and what they say in a sentence.

    `family` is the number of effects and interactions that were looked at, for all of which the intervals are corrected.
    """

    effects: tuple[Effect, ...]
    interactions: tuple[Interaction, ...]
    family: int
    sentence: str

    def to_json(self) -> dict[str, Any]:
        """As JSON values; None for what cannot be known."""
        kinds = {"effects": self.effects, "interactions": self.interactions}
        listed = {kind: [_plain(vars(entry)) for entry in entries] for kind, entries in kinds.items()}
        return {"sentence": self.sentence, "family": self.family} | listed


@dataclass(frozen=True)
class _Contrast:
    """Two choices with their axes, the weight of every trial, and how many settings of the other axes this averages over."""

    label: tuple[str, str, str, str]
    weights: Floats
    settings: int


def choice_effects(
    trials: Sequence[tuple[Mapping[str, str], Floats]],
    cluster: Ints,
    axes: Mapping[str, Sequence[str]],
    span: tuple[float, float] = (0.0, 1.0),
) -> Effects:
    """Effects of all choices of `axes` in trials: (choice by axis, what is to be maximized by question, NaN where not at all).

    A choice is compared over the pairs of trials that agree in all other choices; two axes over the settings of the others
    under which every pair of their choices was tried. What is incomplete is left out, and so are choices that no trial has. A
    question counts in a comparison when all trials of it have a value; `span` is the least and the greatest one. With two
    choices on an axis, one of them says it all.
    """
    tried = {axis: _tried(axis, choices, trials) for axis, choices in axes.items()}
    tried = {axis: choices for axis, choices in tried.items() if len(choices) > 1}
    cube = _cube([found for found, _ in trials], tried)
    singles = [contrast for axis in tried for contrast in _singles(cube, tried, axis)]
    pairs = [contrast for two in combinations(tried, 2) for contrast in _pairs(cube, tried, *two)]
    found = _looked_at([*singles, *pairs], [values for _, values in trials], cluster, span)
    effects = tuple(_effect(contrast, found, column) for column, contrast in enumerate(singles))
    with np.errstate(divide="ignore", invalid="ignore"):
        strength = np.nan_to_num(np.abs(found.mean) / found.error, nan=-1.0)[len(singles) :]
    strongest = np.argsort(-strength, kind="stable")[:STRONGEST]
    interactions = tuple(_interaction(pairs[row], found, len(singles) + row) for row in strongest.tolist())
    told = _sentence(tried, effects, interactions) if not effects or found.clusters.max() > 1 else ONE_CLUSTER
    return Effects(effects, interactions, found.size, told)


def _tried(axis: str, choices: Sequence[str], trials: Sequence[tuple[Mapping[str, str], Floats]]) -> list[str]:
    return [choice for choice in choices if any(found[axis] == choice for found, _ in trials)]


def _cube(trials: Sequence[Mapping[str, str]], axes: Mapping[str, Sequence[str]]) -> Ints:
    """The number of the trial with given choices, one dimension per axis, and -1 where there is none."""
    cube = np.full([len(choices) for choices in axes.values()], -1, np.int64)
    for number, found in enumerate(trials):
        if all(found[axis] in choices for axis, choices in axes.items()):
            cube[tuple(choices.index(found[axis]) for axis, choices in axes.items())] = number
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


def _pairs(cube: Ints, axes: Mapping[str, Sequence[str]], one: str, other: str) -> Iterator[_Contrast]:
    places = [list(axes).index(axis) for axis in (one, other)]
    size, width = len(axes[one]), len(axes[other])
    cells = np.moveaxis(cube, places, [0, 1]).reshape(size, width, -1)
    cells = cells[:, :, (cells >= 0).all(axis=(0, 1))]
    if not cells.shape[2]:
        return
    for row in range(size == 2, size):
        for column in range(width == 2, width):
            share = np.outer((np.arange(size) == row) - 1 / size, (np.arange(width) == column) - 1 / width)
            weights = np.zeros(int(cube.max()) + 1)
            weights[cells] = share[:, :, None] / cells.shape[2]
            yield _Contrast((one, axes[one][row], other, axes[other][column]), weights, cells.shape[2])


def _looked_at(contrasts: Sequence[_Contrast], values: Sequence[Floats], cluster: Ints, span: tuple[float, float]) -> Family:
    weights = np.zeros((len(values), len(contrasts)))
    for column, contrast in enumerate(contrasts):
        weights[: len(contrast.weights), column] = contrast.weights
    table = np.stack(values, axis=1) if len(values) else np.zeros((len(cluster), 0))
    lacking = np.isnan(table).astype(np.float64) @ (weights != 0) > 0
    sums = np.where(np.isnan(table), 0.0, table) @ weights
    # What is equal to the last bits of a sum is equal: a question that no choice moves is no evidence.
    sums[np.abs(sums) < 1e-12] = 0.0
    # The weights of a contrast add up to 0.
    most = np.abs(weights).sum(axis=0) / 2 * (span[1] - span[0])
    return family(np.where(lacking, np.nan, sums), cluster, most)


def _effect(contrast: _Contrast, found: Family, column: int) -> Effect:
    axis, choice, _, reference = contrast.label
    return Effect(axis, choice, reference, *_figures(found, column), contrast.settings)


def _interaction(contrast: _Contrast, found: Family, column: int) -> Interaction:
    axis, choice, other_axis, other_choice = contrast.label
    return Interaction(axis, choice, other_axis, other_choice, *_figures(found, column))


def _figures(found: Family, column: int) -> tuple[float, float, float, float]:
    parts = (found.mean, found.corrected_low, found.corrected_high, found.p_adjusted)
    mean, low, high, p = (float(part[column]) for part in parts)
    return mean, low, high, p


def _sentence(axes: Mapping[str, Sequence[str]], effects: Sequence[Effect], interactions: Sequence[Interaction]) -> str:
    said: list[str] = []
    noise: list[str] = []
    unmatched: list[str] = []
    for axis in axes:
        matched = [effect for effect in effects if effect.axis == axis]
        found = [effect for effect in matched if effect.p_adjusted <= ALPHA]
        if found:
            best = max(found, key=lambda effect: (effect.mean > 0, abs(effect.mean)))
            more = "" if len(found) == 1 else f" ({len(found) - 1} more {'differs' if len(found) == 2 else 'differ'})"
            beside = "over" if best.mean > 0 else "against"
            said.append(f"{axis}={best.choice} {figure(best.mean)} {_interval(best)} {beside} {best.reference}{more}")
        else:
            (noise if matched else unmatched).append(axis)
    said += [f"{_listed(noise)} within noise"] if noise else []
    said += [f"no two trials differ in {_listed(unmatched)} alone"] if unmatched else []
    known = [interaction for interaction in interactions if interaction.p_adjusted <= ALPHA]
    said += [f"{found.choice} with {found.other_choice} {figure(found.mean)} against their sum" for found in known[:1]]
    return "; ".join(said) or "nothing was varied"


def _interval(effect: Effect) -> str:
    return f"[{figure(effect.low, '')}, {figure(effect.high, '')}]"


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def figure(value: float, sign: str = "+") -> str:
    """Three digits behind the point and none before it, with a sign in front: `+.041`."""
    text = f"{value:{sign}.3f}"
    return text.replace("0.", ".", 1) if text.lstrip("+-").startswith("0.") else text


def _plain(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {key: None if value != value else value for key, value in entry.items()}
