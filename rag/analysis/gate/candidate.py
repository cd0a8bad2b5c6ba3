"""The candidate of a gate: the choices of the baseline, composed from today's conf, with a change."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rag.config.build import TARGET
from rag.config.compose import LISTS, compose, resolve
from rag.config.experiment import Experiment, Trial
from rag.core.errors import ConfigError, closest

DATA = ("loader", "dataset", "split")


def trial(experiment: Experiment, choices: Mapping[str, str], changes: Sequence[str], split: str, name: str) -> Trial:
    """Today's trial with these choices and overrides, on the questions of `split`; ConfigError if a choice is gone.

    Its latency is not measured: a gate times both pipelines itself.
    """
    for change in changes:
        if key_of(change) == "split":
            raise ConfigError(change, "is set by the gate, not by a change", "set gate.split, and make the baseline again")
    overrides = [*under(changes, [*experiment.fixed, *_chosen(experiment, choices)]), *changes]
    config = resolve(compose([override for override in overrides if key_of(override) != "split"]))
    return Trial(name, dict(choices), {**config, "split": split, "latency": 0})


def _chosen(experiment: Experiment, choices: Mapping[str, str]) -> Iterator[str]:
    """The overrides of the baseline's choices, in the order of today's axes."""
    again = f"make the baseline again: rag study baseline {experiment.name}"
    for axis in sorted(choices.keys() ^ experiment.axes.keys()):
        what = "is an axis that the baseline does not have" if axis in experiment.axes else "is no longer an axis"
        remedy = f"there is: {', '.join(experiment.axes) or 'none'}; {again}"
        raise ConfigError(f"{experiment.name}.axes.{axis}", what, remedy)
    for axis, options in experiment.axes.items():
        known = {option.label: option.overrides for option in options}
        if choices[axis] not in known:
            what = f"the baseline chose {choices[axis]!r}, which no longer exists"
            raise ConfigError(f"{experiment.name}.axes.{axis}", what, f"{closest(choices[axis], known)}; or {again}")
        yield from known[choices[axis]]


def under(changes: Sequence[str], overrides: Sequence[str]) -> list[str]:
    """The overrides that remain after changes: a change replaces overrides of its key, and of keys inside its choice.

    `chunker=whole` also removes `chunker.size=400`, which was meant for another chunker; groups of several choices keep theirs.
    """
    keys = [key_of(change) for change in changes]
    return [override for override in overrides if not any(_replaces(key, key_of(override)) for key in keys)]


def _replaces(key: str, other: str) -> bool:
    whole = "." not in key and key not in LISTS
    return other == key or (whole and other.startswith(f"{key}."))


def key_of(override: str) -> str:
    """The config key of an override."""
    return override.lstrip("+~").partition("=")[0]


def of_data(overrides: Iterable[str]) -> list[str]:
    """The overrides that name documents, questions or their split."""
    return [override for override in overrides if key_of(override).split(".")[0] in DATA]


def changed(base: Mapping[str, Any], candidate: Mapping[str, Any]) -> tuple[tuple[str, Any, Any], ...]:
    """The differences of two portable configs without data, as (key, base, candidate); None for a missing key.

    Of a replaced component only the class is listed.
    """
    sides = [{key: part for key, part in config.items() if key not in DATA} for config in (base, candidate)]
    different = list(_differences("", *sides))
    for group in ("index", "selector"):
        orders = [list(config.get(group, ())) for config in (base, candidate)]
        if orders[0] != orders[1] and sorted(orders[0]) == sorted(orders[1]):
            # Indexes are fused, and selectors applied, in their order, which no key shows.
            different.append((group, orders[0], orders[1]))
    return tuple(different)


def _differences(key: str, old: Any, new: Any) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(old, Mapping) and isinstance(new, Mapping) and old.get(TARGET) == new.get(TARGET):
        for name in dict.fromkeys((*old, *new)):
            yield from _differences(f"{key}.{name}" if key else str(name), old.get(name), new.get(name))
    elif old != new:
        yield key, _called(old), _called(new)


def _called(value: Any) -> Any:
    return value[TARGET] if isinstance(value, Mapping) and TARGET in value else value
