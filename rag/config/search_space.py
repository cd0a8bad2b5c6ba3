"""Axes → trials. Every trial is the resolved config that Hydra would compose for it alone."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rag.config.catalog import NONE, PRESET, defaults
from rag.config.compose import HELPER, compose, parsed
from rag.config.composer import composing
from rag.config.resolver import Resolver
from rag.config.stand_ins import MARK, STAND_INS, remark
from rag.core.errors import UserError


@dataclass(frozen=True)
class Choice:
    """One value of an axis: its label and its overrides."""

    label: str
    overrides: tuple[str, ...]


@dataclass(frozen=True)
class Trial:
    """One configuration to evaluate. `choices` has the label of its choice by axis; `config` is resolved.

    `name` has the labels of the axes with several choices; without such an axis it is that of the preset, or `default`.
    """

    name: str
    choices: Mapping[str, str]
    config: Mapping[str, Any]


def stand_in_remarks(trials: Iterable[Trial]) -> tuple[str, ...]:
    """A line for all trials with the same stand-ins for parts of their presets, and a last one on what is missing."""
    alike: dict[str, list[Trial]] = {}
    for trial in trials:
        if said := remark(trial.config):
            alike.setdefault(said.splitlines()[0], []).append(trial)
    more = {said: f" and {len(group) - 1} more" if len(group) > 1 else "" for said, group in alike.items()}
    used = [f"{group[0].name}{more[said]}: {said}" for said, group in alike.items()]
    return (*used, *remark(*(group[0].config for group in alike.values())).splitlines()[1:])


def own_judge_remarks(trials: Iterable[Trial]) -> tuple[str, ...]:
    """A sentence for each model that judges its own answers."""
    nodes = (trial.config for trial in trials)
    pairs = ((each.get("generator") or {}, (each.get("judge") or {}).get("generator") or {}) for each in nodes)
    own = {str(one["model"]) for one, other in pairs if one.get("model") and one["model"] == other.get("model")}
    return tuple(f"{model} judges its own answers, which models favour: let another model judge." for model in sorted(own))


def compose_trials(fixed: Sequence[str], axes: Mapping[str, Sequence[Choice]]) -> tuple[list[Trial], list[UserError]]:
    """A trial for every combination of choices that can be composed, in the order of the axes; the errors of the others.

    Equal values of trials are the same object.
    """
    trials, problems, resolver = list[Trial](), dict[str, UserError](), Resolver()
    with composing():
        for picked in itertools.product(*axes.values()):
            overrides = [*fixed, *(each for choice in picked for each in choice.overrides)]
            try:
                config = compose(overrides)
                resolved = {key: resolver(key, config) for key in config if key != HELPER}
            except UserError as error:
                problems.setdefault(str(error), error)
                continue
            labels = {axis: choice.label for axis, choice in zip(axes, picked, strict=True)}
            shown = [labels[axis] for axis, choices in axes.items() if len(choices) > 1]
            name = (" · ".join(shown) or _preset(overrides)) + (MARK if STAND_INS in resolved else "")
            trials.append(Trial(name, labels, resolved))
    return trials, list(problems.values())


def _preset(overrides: Sequence[str]) -> str:
    named = [str(override.value()) for override in parsed(overrides) if override.key_or_group == PRESET]
    name = [str(defaults()[PRESET]), *named][-1]
    return "default" if name == NONE else name
