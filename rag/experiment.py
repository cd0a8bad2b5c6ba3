"""A declared study → its trials. Axes speak Hydra's override grammar; every trial is an ordinary resolved config.

Composing one config takes tens of milliseconds, so trials are not composed one by one: axes that touch different top-level
keys are composed apart from each other, and their keys are put together, interpolations still open.
"""

import itertools
import math
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from omegaconf import DictConfig, OmegaConf

from rag.compose import compose, expanded, hydra_ready, parsed, resolve, shipped
from rag.errors import ConfigError, ProblemsError, UserError, closest
from rag.identity import digest

KEYS = ("question", "dataset", "fixed", "axes", "objective", "split", "showed", "gate")
MOST_TRIALS = 100_000


@dataclass(frozen=True)
class Choice:
    """One value of an axis: what it is called, and the overrides that make it."""

    label: str
    overrides: tuple[str, ...]


@dataclass(frozen=True)
class Trial:
    """One configuration to evaluate. `choices` says, by axis, what it chose; `config` is resolved."""

    name: str
    choices: Mapping[str, str]
    config: Mapping[str, Any]


@dataclass(frozen=True)
class Experiment:
    """A question, and the trials that answer it."""

    name: str
    question: str
    fixed: tuple[str, ...]
    axes: Mapping[str, tuple[Choice, ...]] = field(default_factory=dict)
    objective: str = "maximize ndcg@10"

    def trials(self) -> list[Trial]:
        """Every distinct configuration, in the order of the axes; ProblemsError with all that cannot be composed."""
        count = math.prod(len(choices) for choices in self.axes.values())
        if count > MOST_TRIALS:
            raise ConfigError(f"{self.name}.axes", f"span {count:,} trials", f"at most {MOST_TRIALS:,}: leave some choices out")
        with hydra_ready():
            found, problems = _compose_all(self.fixed, list(self.axes.items()))
        if problems:
            raise ProblemsError(problems)
        distinct: dict[str, Trial] = {}
        for trial in found:
            distinct.setdefault(digest(trial.config), trial)
        return list(distinct.values())


def locate(name: str) -> Path:
    """The file of an experiment: a path, or a name in `experiments/` here, or one that came with the installation."""
    folders = [Path.cwd() / "experiments", shipped("experiments")]
    for path in [Path(name), *(folder / f"{name}.yaml" for folder in folders)]:
        if path.is_file():
            return path
    known = {path.stem for folder in folders for path in folder.glob("*.yaml")}
    raise ConfigError("experiment", f"there is none called {name!r}", closest(name, known))


def load(name: str, overrides: Sequence[str] = ()) -> Experiment:
    """Read an experiment; `overrides` join what it holds fixed."""
    path = locate(name)
    try:
        content = yaml.safe_load(path.read_text("utf-8"))
    except yaml.YAMLError as error:
        raise ConfigError(str(path), f"is no YAML: {' '.join(str(error).split())}", "mend the line named here") from error
    if not isinstance(content, dict):
        raise ConfigError(str(path), f"holds {type(content).__name__}, not a mapping", f"keys: {', '.join(KEYS)}")
    for key in content:
        if key not in KEYS:
            raise ConfigError(f"{path}: {key}", "is not a key of an experiment", closest(str(key), KEYS))
    if not isinstance(content.get("question"), str):
        raise ConfigError(f"{path}: question", "is missing", "say in a sentence what the experiment is to find out")
    fixed = [f"{key}={content[key]}" for key in ("dataset", "split") if key in content] + list(content.get("fixed") or ())
    axes = {str(axis): _choices(f"{path}: axes.{axis}", value) for axis, value in (content.get("axes") or {}).items()}
    objective = str(content.get("objective", "maximize ndcg@10"))
    return Experiment(path.stem, content["question"].strip(), (*fixed, *overrides), axes, objective)


def ad_hoc(overrides: Sequence[str], name: str = "run") -> Experiment:
    """The experiment behind `rag run`: every override in sweep syntax is an axis."""
    singles = [override for override, read in zip(overrides, parsed(overrides), strict=True) if not read.is_sweep_override()]
    sweeps = [override for override in overrides if override not in singles]
    axes = {override.split("=")[0].lstrip("+~"): _choices(override, override) for override in sweeps}
    return Experiment(name, "Ad hoc: " + (" ".join(overrides) or "the default configuration"), tuple(singles), axes)


def _choices(where: str, value: Any) -> tuple[Choice, ...]:
    if isinstance(value, str):
        return tuple(Choice(label((single,)), (single,)) for single in expanded(value))
    if isinstance(value, Mapping):
        return tuple(Choice(str(name), _bundle(where, bundle)) for name, bundle in value.items())
    if isinstance(value, list) and value:
        return tuple(Choice(label(_bundle(where, bundle)), _bundle(where, bundle)) for bundle in value)
    raise ConfigError(where, f"holds {value!r}", 'write "key=a,b,c", a list of overrides, or a mapping of names to overrides')


def _bundle(where: str, value: Any) -> tuple[str, ...]:
    bundle = tuple(shlex.split(value)) if isinstance(value, str) else tuple(value) if isinstance(value, list) else ()
    if not bundle or not all(isinstance(override, str) for override in bundle):
        raise ConfigError(where, f"holds {value!r}", "overrides such as chunker=fixed chunker.size=400, without spaces inside")
    return bundle


def label(overrides: Sequence[str]) -> str:
    """What a choice is called in a leaderboard: `recursive-512` for chunker=recursive chunker.size=512."""
    shown = ""
    for override in overrides:
        key, _, value = override.lstrip("+").partition("=")
        value = value.strip("[]'\"").replace(" ", "").replace(",", "+")
        if not shown:
            shown = value if "." not in key and not _number(value) else f"{key.rsplit('.', 1)[-1]} {value}"
        else:
            shown += f"-{value}" if _number(value) else f" {value}"
    return shown


def _number(text: str) -> bool:
    return text.replace(".", "", 1).isdigit()


def _compose_all(fixed: Sequence[str], axes: Sequence[tuple[str, tuple[Choice, ...]]]) -> tuple[list[Trial], list[UserError]]:
    problems: list[UserError] = []
    base = _plain(compose(fixed))
    groups = _groups(axes)
    options = [_options(fixed, base, group, problems) for group in groups]
    touched = [set().union(*(delta for _, delta in found)) for found in options]
    if any(one & other for one, other in itertools.combinations(touched, 2)):
        options = [_options(fixed, base, [axis for group in groups for axis in group], problems)]
    trials: list[Trial] = []
    resolver = Resolver()
    for parts in itertools.product(*options):
        chosen = {axis: choice.label for picked, _ in parts for axis, choice in picked.items()}
        config = dict(base)
        for _, delta in parts:
            config |= delta
        try:
            resolved = {key: resolver(key, config) for key in config}
        except UserError as error:
            problems.append(error)
            continue
        ordered = {axis: chosen[axis] for axis, _ in axes}
        shown = [ordered[axis] for axis, choices in axes if len(choices) > 1]
        trials.append(Trial(" · ".join(shown) or "default", ordered, resolved))
    order = {tuple(labels): number for number, labels in enumerate(_all_labels(axes))}
    trials.sort(key=lambda trial: order[tuple(trial.choices.values())])
    return trials, list({str(problem): problem for problem in problems}.values())


def _all_labels(axes: Sequence[tuple[str, tuple[Choice, ...]]]) -> Iterator[tuple[str, ...]]:
    return itertools.product(*([choice.label for choice in choices] for _, choices in axes))


def _groups(axes: Sequence[tuple[str, tuple[Choice, ...]]]) -> list[list[tuple[str, tuple[Choice, ...]]]]:
    """Axes that name a common top-level key must be composed together."""
    groups: list[tuple[set[str], list[tuple[str, tuple[Choice, ...]]]]] = []
    for axis in axes:
        keys = {part.lstrip("+~").split("=")[0].split(".")[0].split("@")[0] for choice in axis[1] for part in choice.overrides}
        joined = [group for group in groups if group[0] & keys]
        groups = [group for group in groups if group not in joined]
        groups.append((keys.union(*(group[0] for group in joined)), [*(part for group in joined for part in group[1]), axis]))
    return [group for _, group in groups]


def _options(
    fixed: Sequence[str],
    base: Mapping[str, Any],
    group: Sequence[tuple[str, tuple[Choice, ...]]],
    problems: list[UserError],
) -> list[tuple[dict[str, Choice], dict[str, Any]]]:
    options = []
    for choices in itertools.product(*(choices for _, choices in group)):
        try:
            config = _plain(compose([*fixed, *(override for choice in choices for override in choice.overrides)]))
        except UserError as error:
            problems.append(error)
            continue
        delta = {key: value for key, value in config.items() if key not in base or base[key] != value}
        options.append((dict(zip((name for name, _ in group), choices, strict=True)), delta))
    return options


class Resolver:
    """Fills interpolations in, once per distinct value of everything that they reach."""

    def __init__(self) -> None:
        self._known: dict[str, Any] = {}

    def __call__(self, key: str, config: Mapping[str, Any]) -> Any:
        """The value of a top-level key; ConfigError when something in it is missing or cannot be resolved."""
        reached: dict[str, Any] = {}
        waiting = [key]
        while waiting:
            name = waiting.pop()
            if name not in reached and name in config:
                reached[name] = config[name]
                waiting += _mentioned(config[name])
        if len(reached) == 1 and not _open(config[key]):
            return config[key]
        known = digest(key, reached)
        if known not in self._known:
            self._known[known] = resolve(OmegaConf.create(reached))[key]
        return self._known[known]


def _mentioned(value: Any) -> list[str]:
    """Top-level keys that the interpolations of a value name; relative ones stay within their key."""
    return [name for text in _texts(value) for name in re.findall(r"\$\{\s*([A-Za-z_]\w*)", text)]


def _open(value: Any) -> bool:
    return any("${" in text or text == "???" for text in _texts(value))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        for part in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(part)


def _plain(config: DictConfig) -> dict[str, Any]:
    plain = OmegaConf.to_container(config, resolve=False)
    return {str(key): value for key, value in dict(plain).items()} if isinstance(plain, dict) else {}
