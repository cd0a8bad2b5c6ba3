"""A declared experiment → its trials. Axes use Hydra's override grammar; every trial is an ordinary resolved config."""

import math
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rag.config.catalog import locate
from rag.config.compose import expanded, parsed
from rag.config.identity import Digests
from rag.config.limits import check_axis, check_name
from rag.config.parameters import yaml_text
from rag.config.search_space import Choice, Trial, compose_trials
from rag.config.yaml_files import check_interpolations, read
from rag.core.checks import check_choice
from rag.core.errors import ConfigError, ProblemsError
from rag.core.types import SPLITS

__all__ = ["Choice", "Experiment", "Trial", "ad_hoc", "label", "load", "locate"]

KEYS = (
    *("question", "dataset", "fixed", "axes", "objective", "split", "holdout", "repeats"),
    *("controls", "answers", "recommend", "showed", "gate", "wins"),
)
KINDS: Mapping[str, Any] = {
    **dict.fromkeys(("question", "dataset", "split"), str),
    **dict.fromkeys(("axes", "gate", "recommend", "wins"), dict),
    **{"objective": str | list, "holdout": int, "repeats": int, "controls": bool, "answers": list},
}
CALLED: Mapping[Any, str] = {
    **{str: "text", bool: "true or false", int: "a whole number"},
    **{list: "a list", str | list: "text or a list of clauses"},
}
MOST_TRIALS = 100_000
REMEASURED = 5
"""The number of best trials that are measured again on the holdout, where an experiment sets `split: tune` and no number."""


@dataclass(frozen=True)
class Experiment:
    """A question, and the trials that answer it. `holdout` is how many of the best are measured again on the holdout.

    With `controls` the recommended trial, if it generates answers, also runs without contexts, with the contexts of other
    questions, and with the gold. `answers` are further metrics of answers for the recommended trial and its controls only, so
    that a judge is paid once and not for every trial. `recommend` is the rule of the choice
    (`rag.execution.sweep.selection.rule`). `wins` names an axis, and a dimension of slices under `by`: the conclusion then says
    where each choice of the axis is best. `typed` are its name or path and the overrides of the command line.
    """

    name: str
    question: str
    fixed: tuple[str, ...]
    axes: Mapping[str, tuple[Choice, ...]] = field(default_factory=dict)
    objective: str = "maximize ndcg@10"
    gate: Mapping[str, Any] = field(default_factory=dict)
    holdout: int = 0
    controls: bool = False
    answers: tuple[str, ...] = ()
    recommend: Mapping[str, Any] = field(default_factory=dict)
    wins: Mapping[str, str] = field(default_factory=dict)
    typed: tuple[str, ...] = ()

    @property
    def called(self) -> str:
        """The experiment with its overrides, for a shell."""
        return shlex.join(self.typed or (self.name,))

    def trials(self) -> list[Trial]:
        """Every distinct configuration, in the order of the axes; ProblemsError with all that cannot be composed."""
        count = math.prod(len(choices) for choices in self.axes.values())
        if count > MOST_TRIALS:
            raise ConfigError(f"{self.name}.axes", f"span {count:,} trials", f"at most {MOST_TRIALS:,}: leave some choices out")
        trials, problems = compose_trials(self.fixed, self.axes)
        if problems:
            raise ProblemsError(problems)
        distinct: dict[tuple[tuple[str, ...], ...], Trial] = {}
        known = Digests()
        for trial in trials:
            # Digests sort keys, and indexes are fused in their order.
            distinct.setdefault((known.texts(trial.config), tuple(trial.config["index"])), trial)
        return list(distinct.values())


def load(name: str, overrides: Sequence[str] = ()) -> Experiment:
    """Read an experiment; its default split is `all`, and `tune` with a `holdout`. ConfigError for anything that is not valid.

    `overrides` are added to the fixed ones; an override of the key that names an axis replaces the choices of the axis.
    """
    path = locate(name)
    check_name(path.stem, str(path))
    file = read(path)
    check_interpolations(file)
    content = {str(key): value for key, value in (file.mapping if file.root else {}).items()}
    for key in content:
        check_choice(str(path), key, KEYS)
    for key, kind in KINDS.items():
        if key in content and not isinstance(content[key], kind):
            called = CALLED.get(kind, "a mapping of names to choices")
            raise ConfigError(f"{path}: {key}", f"is {yaml_text(content[key])}", f"{called} is needed")
    if not content.get("question", "").strip():
        raise ConfigError(f"{path}: question", "is missing", "say in a sentence what the experiment is to find out")
    fixed = [f"{key}={content[key]}" for key in ("dataset", "split", "repeats") if key in content]
    fixed += _bundle(f"{path}: fixed", content["fixed"]) if content.get("fixed") else ()
    axes = {str(axis): _choices(f"{path}: axes.{axis}", value) for axis, value in content.get("axes", {}).items()}
    instead = {axis: override for override in overrides if (axis := override.split("=")[0]) in axes}
    others = [override for override in overrides if override not in instead.values()]
    axes |= {axis: _choices(override, override) for axis, override in instead.items()}
    _check_apart(others, axes)
    holdout = content.get("holdout", REMEASURED)
    if isinstance(holdout, bool) or holdout < 0:
        raise ConfigError(f"{path}: holdout", f"is {yaml_text(holdout)}", "how many of the best are measured again, 0 for none")
    if content.get("holdout") and (split := content.get("split", SPLITS[0])) != SPLITS[0]:
        what = f"is {holdout}, and split: {split} keeps nothing back"
        raise ConfigError(f"{path}: holdout", what, "split: tune, or no holdout")
    if not any(_named_key(override) == "split" for override in (*fixed, *others, *_axis_overrides(axes))):
        fixed.append(f"split={SPLITS[0] if content.get('holdout') else 'all'}")
    objective = _clauses(f"{path}: objective", content.get("objective", "maximize ndcg@10"))
    gate = content.get("gate", {})
    answers = tuple(dict.fromkeys(map(str, content.get("answers", []))))
    wins = _wins(f"{path}: wins", content.get("wins", {}), axes)
    rest = (axes, objective, gate, holdout, content.get("controls", True), answers, content.get("recommend", {}), wins)
    return Experiment(path.stem, content["question"].strip(), (*fixed, *others), *rest, (name, *overrides))


def _wins(where: str, value: Mapping[str, Any], axes: Mapping[str, Any]) -> Mapping[str, str]:
    """The axis whose choices are compared with each other, and the dimension of slices."""
    if value and (value.get("axis") not in axes or not set(value) <= {"axis", "by"}):
        raise ConfigError(where, f"is {yaml_text(value)}", f"{{axis: {'|'.join(axes) or '<an axis>'}, by: kind}}")
    return {name: str(part) for name, part in value.items()}


def _clauses(where: str, value: str | Sequence[Any]) -> str:
    if isinstance(value, str):
        return value
    for clause in value:
        if not isinstance(clause, str) or not clause.strip():
            raise ConfigError(where, f"holds {yaml_text(clause)}", "clauses such as: maximize ndcg@10")
    return ", ".join(clause.strip() for clause in value)


def _named_key(override: str) -> str:
    return override.lstrip("+~").split("=")[0]


def _axis_overrides(axes: Mapping[str, tuple[Choice, ...]]) -> Iterator[str]:
    return (override for choices in axes.values() for choice in choices for override in choice.overrides)


def _check_apart(fixed: Iterable[str], axes: Mapping[str, tuple[Choice, ...]]) -> None:
    """Raise ConfigError for an override of a key that an axis varies."""
    asked = {_named_key(override): override for override in fixed}
    for axis, choices in axes.items():
        for override in _axis_overrides({axis: choices}):
            if clash := asked.get(_named_key(override)):
                raise ConfigError(clash, f"is what the axis {axis!r} varies", "leave it out, or take it out of the axis")


def ad_hoc(overrides: Sequence[str], name: str = "run") -> Experiment:
    """The experiment of `rag study run`: every override in sweep syntax is an axis."""
    singles = [override for override, read in zip(overrides, parsed(overrides), strict=True) if not read.is_sweep_override()]
    sweeps = [override for override in overrides if override not in singles]
    axes: dict[str, tuple[Choice, ...]] = {}
    for override in sweeps:
        _check_apart([override], axes)
        axes[override.split("=")[0].lstrip("+~")] = _choices(override, override)
    _check_apart(singles, axes)
    question = "Ad hoc: " + (" ".join(overrides) or "the default configuration")
    return Experiment(name, question, tuple(singles), axes, objective="", typed=(name, *overrides))


def _choices(where: str, value: Any) -> tuple[Choice, ...]:
    if isinstance(value, str) and value.strip():
        return _labelled((single,) for single in expanded(value))
    if isinstance(value, Mapping | list):
        check_axis(where, value)
    if isinstance(value, Mapping) and value:
        return tuple(Choice(str(name), _bundle(where, bundle)) for name, bundle in value.items())
    if isinstance(value, list) and value:
        return _labelled(_bundle(where, bundle) for bundle in value)
    form = 'write "key=a,b,c", a list of overrides, or a mapping of names to overrides'
    raise ConfigError(where, f"holds {yaml_text(value)}", form)


def _bundle(where: str, value: Any) -> tuple[str, ...]:
    try:
        bundle = tuple(shlex.split(value)) if isinstance(value, str) else tuple(value) if isinstance(value, list) else ()
    except ValueError as error:
        raise ConfigError(where, f"holds {yaml_text(value)} ({error})", "close the quotation mark") from error
    if not bundle or not all(isinstance(override, str) for override in bundle):
        remedy = "overrides such as chunker=fixed chunker.size=400, without spaces inside"
        raise ConfigError(where, f"holds {yaml_text(value)}", remedy)
    return bundle


def _labelled(bundles: Iterable[tuple[str, ...]]) -> tuple[Choice, ...]:
    """Choices by label; by all of their overrides where two labels are equal."""
    distinct = list(dict.fromkeys(bundles))
    labels = [label(bundle) for bundle in distinct]
    counts = Counter(labels)
    return tuple(
        Choice(name if counts[name] == 1 else " ".join(bundle), bundle) for name, bundle in zip(labels, distinct, strict=True)
    )


def label(overrides: Sequence[str]) -> str:
    """The label of a choice in a leaderboard: `recursive-512` for chunker=recursive chunker.size=512."""
    shown = ""
    for override in overrides:
        key, _, value = override.lstrip("+").partition("=")
        value = value.strip("[]'\"").replace(" ", "").replace(",", "+") or override
        is_number = value.replace(".", "", 1).isdigit()
        if override.startswith("~"):
            shown = f"{shown} {override}".strip()
        elif not shown:
            shown = value if "." not in key and not is_number else f"{key.rsplit('.', 1)[-1]} {value}"
        else:
            shown += f"-{value}" if is_number else f" {value}"
    return shown
