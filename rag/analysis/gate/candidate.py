"""What a baseline is compared with: the same choices of the same axes, composed from today's conf, and a change."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rag.analysis.baseline import portable
from rag.config.build import TARGET
from rag.config.compose import LISTS, choice, choices, compose, hydra_ready, resolve, written
from rag.config.experiment import Experiment, Trial
from rag.core.errors import ConfigError, closest

OPEN = "???"
DATA = ("loader", "dataset", "split")


def trial(experiment: Experiment, choices: Mapping[str, str], changes: Sequence[str], split: str, name: str) -> Trial:
    """Today's trial with these choices, under some overrides; ConfigError where a choice is there no more.

    It is asked the questions of `split`, and its latency is not measured with it: a gate compares clocks by itself.
    """
    for change in changes:
        if _key(change) == "split":
            raise ConfigError(change, "is what the gate says, not a change", "set gate.split, and make the baseline again")
    chosen = [override for axis, label in _same(experiment, choices) for override in _overrides(experiment, axis, label)]
    overrides = [*under(changes, [*experiment.fixed, *chosen]), *changes]
    with hydra_ready():
        config = resolve(compose([override for override in overrides if _key(override) != "split"]))
    return Trial(name, dict(choices), {**config, "split": split, "latency": 0})


def _same(experiment: Experiment, choices: Mapping[str, str]) -> Iterable[tuple[str, str]]:
    for axis in (*choices, *experiment.axes):
        if axis not in experiment.axes or axis not in choices:
            what = "is an axis that the baseline does not know" if axis in experiment.axes else "was an axis and is none now"
            remedy = (
                f"there is: {', '.join(experiment.axes) or 'none'}; make the baseline again: rag baseline {experiment.name}"
            )
            raise ConfigError(f"{experiment.name}.axes.{axis}", what, remedy)
    return ((axis, choices[axis]) for axis in experiment.axes)


def _overrides(experiment: Experiment, axis: str, label: str) -> tuple[str, ...]:
    known = {choice.label: choice.overrides for choice in experiment.axes[axis]}
    if label not in known:
        remedy = f"{closest(label, known)}; or make the baseline again: rag baseline {experiment.name}"
        raise ConfigError(f"{experiment.name}.axes.{axis}", f"the baseline chose {label!r}, which is there no more", remedy)
    return known[label]


def under(changes: Sequence[str], overrides: Sequence[str]) -> list[str]:
    """The overrides that a change leaves standing: it takes the place of what has its key, or lies inside the choice it makes.

    `chunker=whole` takes with it `chunker.size=400`, meant for another chunker; groups of several choices keep theirs.
    """
    keys = [_key(change) for change in changes]
    return [override for override in overrides if not any(_replaces(key, _key(override)) for key in keys)]


def _replaces(key: str, other: str) -> bool:
    whole = "." not in key and key not in LISTS
    return other == key or (whole and other.startswith(f"{key}."))


def _key(override: str) -> str:
    return override.lstrip("+~").partition("=")[0]


def asking(experiment: Experiment, config: Mapping[str, Any]) -> list[str]:
    """The overrides by which an experiment asks the questions that a portable config names; none where it does by itself."""
    node = config["dataset"]
    with hydra_ready():
        today = resolve(compose([override for override in experiment.fixed if _key(override).split(".")[0] in DATA]))
    if node == portable(today)["dataset"]:
        return []
    # A choice that leaves its path open is meant for any data set, the others for one.
    known = {name: choice("dataset", name) for name in choices("dataset")}
    alike = [name for name, values in known.items() if values.get(TARGET) == node.get(TARGET)]
    name = min(alike, key=lambda each: (OPEN not in known[each].values(), each), default="")
    others = [written(f"dataset.{key}", part) for key, part in node.items() if known.get(name, {}).get(key) != part]
    return [f"dataset={name}", *others] if name else []


def changed(base: Mapping[str, Any], candidate: Mapping[str, Any]) -> tuple[tuple[str, Any, Any], ...]:
    """Where two portable configs differ, as (key, base, candidate); None for what is not there. Data is left out.

    Of a component that another one takes the place of, only the class is told.
    """
    sides = [{key: part for key, part in config.items() if key not in DATA} for config in (base, candidate)]
    found = list(_differences("", *sides))
    for group in ("index", "selector"):
        orders = [list(config.get(group, ())) for config in (base, candidate)]
        if orders[0] != orders[1] and sorted(orders[0]) == sorted(orders[1]):
            # Indexes are fused, and selectors applied, in their order, which no key shows.
            found.append((group, orders[0], orders[1]))
    return tuple(found)


def _differences(key: str, old: Any, new: Any) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(old, Mapping) and isinstance(new, Mapping) and old.get(TARGET) == new.get(TARGET):
        for name in dict.fromkeys((*old, *new)):
            yield from _differences(f"{key}.{name}" if key else str(name), old.get(name), new.get(name))
    elif old != new:
        yield key, _called(old), _called(new)


def _called(value: Any) -> Any:
    return value[TARGET] if isinstance(value, Mapping) and TARGET in value else value
