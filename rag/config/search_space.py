"""Axes → trials. Every trial is the resolved config that Hydra would compose for it alone.

Composing one config takes a tenth of a second, so trials are not composed one by one. Axes that change different top-level
keys are composed separately, and their keys are merged before interpolations are resolved. Axes that change the same key are
composed together, with one Hydra composition for each combination of groups (`rag.config.single_values`).
"""

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from omegaconf import OmegaConf

from rag.config.catalog import PRESET
from rag.config.compose import HELPER, compose, resolve
from rag.config.nested_choices import LANGUAGE, names_choices
from rag.config.single_values import Composer, Raw
from rag.config.stand_ins import STAND_INS, remark
from rag.core.errors import UserError
from rag.core.memo import Once

MARK = " *"
"""The end of the name of a trial in which something stands in for a part of its preset."""

CLOSED = ("found", "oc.decode", "oc.env")
"""Resolvers that read nothing but their arguments."""


@dataclass(frozen=True)
class Choice:
    """One value of an axis: its label and its overrides."""

    label: str
    overrides: tuple[str, ...]


@dataclass(frozen=True)
class Trial:
    """One configuration to evaluate. `choices` has the label of its choice by axis; `config` is resolved."""

    name: str
    choices: Mapping[str, str]
    config: Mapping[str, Any]


def stand_in_remarks(trials: Iterable[Trial]) -> tuple[str, ...]:
    """A sentence for each trial in which something stands in for a part of its preset."""
    used = {trial.name: remark(trial.config) for trial in trials}
    return tuple(f"{name}: {sentences}" for name, sentences in used.items() if sentences)


Axis = tuple[str, tuple[Choice, ...]]


@dataclass(frozen=True)
class Option:
    """One combination of choices of some axes, by their numbers, and the keys that it changes and removes."""

    chosen: Mapping[str, int]
    changed: Raw
    gone: frozenset[str]


class Space:
    """Every combination of the choices of some axes, with fixed overrides. Use it within `hydra_ready`."""

    def __init__(self, fixed: Sequence[str], axes: Sequence[Axis]) -> None:
        self.fixed, self.axes = tuple(fixed), tuple(axes)
        self.problems: dict[str, UserError] = {}
        self._composed: dict[tuple[str, ...], Raw | UserError] = {}
        self._composer = Composer(fixed, compose)
        self._resolver = Resolver()

    def trials(self) -> list[Trial]:
        """All trials that can be composed, in the order of the axes; `problems` then holds the errors of the others."""
        if isinstance(failed := self._compose(()), UserError) and not self._curable():
            self.problems[str(failed)] = failed
            return []
        groups = self._groups()
        for group in groups:
            for _, bundle in combinations(group):
                if isinstance(failed := self._compose(bundle), UserError):
                    self.problems.setdefault(str(failed), failed)
        trials = [self._trial(options) for options in itertools.product(*map(self._options, groups))]
        return [trial for _, trial in sorted(filter(None, trials), key=lambda placed: placed[0])]

    def _trial(self, options: Sequence[Option]) -> tuple[tuple[int, ...], Trial] | None:
        config = dict(self._base())
        for option in options:
            for key in option.gone:
                config.pop(key, None)
            config |= option.changed
        try:
            resolved = {key: self._resolver(key, config) for key in config if key != HELPER}
        except UserError as error:
            self.problems.setdefault(str(error), error)
            return None
        chosen = {axis: number for option in options for axis, number in option.chosen.items()}
        labels = {axis: choices[chosen[axis]].label for axis, choices in self.axes}
        shown = [labels[axis] for axis, choices in self.axes if len(choices) > 1]
        name = (" · ".join(shown) or "default") + (MARK if STAND_INS in resolved else "")
        return tuple(chosen[axis] for axis, _ in self.axes), Trial(name, labels, resolved)

    def _curable(self) -> bool:
        """Whether the fixed overrides name keys that only a choice adds."""
        choices = (choice for _, choices in self.axes for choice in choices)
        return any(not isinstance(self._compose(choice.overrides), UserError) for choice in choices)

    def _groups(self) -> list[Sequence[Axis]]:
        """Axes that must be composed together."""
        if isinstance(self._compose(()), UserError):
            return [self.axes]
        groups: list[Sequence[Axis]] = [(axis,) for axis in self.axes]
        while pair := next((pair for pair in itertools.combinations(groups, 2) if self._meet(*pair)), None):
            joined = tuple(axis for axis in self.axes if axis in pair[0] or axis in pair[1])
            groups = [joined, *(group for group in groups if group not in pair)]
        return groups

    def _meet(self, one: Sequence[Axis], other: Sequence[Axis]) -> bool:
        """Whether both name or change a common top-level key, so that one can affect the other."""
        return not self._touched(one).isdisjoint(self._touched(other))

    def _touched(self, group: Sequence[Axis]) -> set[str]:
        overrides = (override for _, bundle in combinations(group) for override in bundle)
        named = {re.split(r"[.@/=]", override.lstrip("+~"))[0] for override in overrides}
        # What stands in for a part of a preset depends on all choices, also where it is the default.
        named |= self._base().keys() if PRESET in named else set()
        return named.union(*(option.changed.keys() | option.gone for option in self._options(group)))

    def _options(self, group: Sequence[Axis]) -> list[Option]:
        base = self._base()
        options = []
        for numbers, bundle in combinations(group):
            config = self._compose(bundle)
            if not isinstance(config, UserError):
                changed = {key: value for key, value in config.items() if key not in base or base[key] is not value}
                chosen = dict(zip((name for name, _ in group), numbers, strict=True))
                options.append(Option(chosen, changed, frozenset(base.keys() - config.keys())))
        return options

    def _base(self) -> Raw:
        base = self._compose(())
        return {} if isinstance(base, UserError) else base

    def _compose(self, overrides: tuple[str, ...]) -> Raw | UserError:
        if overrides not in self._composed:
            try:
                self._composed[overrides] = self._composer(overrides)
            except UserError as error:
                self._composed[overrides] = error
        return self._composed[overrides]


def combinations(group: Sequence[Axis]) -> Iterator[tuple[tuple[int, ...], tuple[str, ...]]]:
    """Every combination of choices of some axes: their numbers, and all their overrides in the order of the axes."""
    for picked in itertools.product(*(enumerate(choices) for _, choices in group)):
        yield tuple(number for number, _ in picked), tuple(each for _, choice in picked for each in choice.overrides)


@dataclass(frozen=True)
class Reading:
    """Whether a value has interpolations, missing parts or names of nested choices, and the top-level keys that it names.

    None stands for any key: the keys of `${${name}}`, and of resolvers such as `oc.select`, are not known.
    """

    is_open: bool
    names: frozenset[str] | None

    @classmethod
    def of(cls, value: Any) -> "Reading":
        """Read a value."""
        texts = list(_texts(value))
        references = [each for text in texts for each in re.findall(r"\$\{[\s.]*([^:}$]*)(:?)", text)]
        named = [re.split(r"[.\[]", name)[0].strip() for name, colon in references if not colon]
        nested = names_choices(value)
        named += [LANGUAGE] if nested else []
        is_open = nested or any("${" in text or text == "???" for text in texts)
        vague = "" in named or any(colon and name.strip() not in CLOSED for name, colon in references)
        return cls(is_open, None if vague else frozenset(named))


class Resolver:
    """Resolves interpolations, once per combination of the objects that they reach: thousands of trials share most of them."""

    def __init__(self) -> None:
        self._readings = Once()
        self._resolved: dict[tuple[Any, ...], tuple[Raw, Any]] = {}

    def __call__(self, key: str, config: Raw) -> Any:
        """The resolved value of a top-level key; ConfigError where a part is missing or cannot be resolved."""
        if not self._reading(config[key]).is_open:
            return config[key]
        reached: dict[str, Any] = {}
        waiting = [key]
        while waiting:
            name = waiting.pop()
            if name not in reached and name in config:
                reached[name] = config[name]
                names = self._reading(config[name]).names
                waiting += config if names is None else names
        known = key, *((name, id(reached[name])) for name in sorted(reached))
        if known not in self._resolved:
            self._resolved[known] = reached, _result(reached, key)
        result = self._resolved[known][1]
        if isinstance(result, UserError):
            raise result
        return result

    def _reading(self, value: Any) -> Reading:
        return self._readings(value, lambda: Reading.of(value))


def _result(reached: Raw, key: str) -> Any:
    try:
        return resolve(OmegaConf.create(dict(reached)))[key]
    except UserError as error:
        return error


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        for part in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(part)
