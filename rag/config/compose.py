"""Overrides → resolved configs. A user's own `conf/` comes first, then ours, then those of plugins.

Overrides have Hydra's grammar, and what they and the files of `conf/` mean is what Hydra makes of them.
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag.config.catalog import LISTS, NONE, PRESET, choice, choices, plugins, search_folders
from rag.config.composer import Composer, Config, composing
from rag.config.interpolation import check_text
from rag.config.limits import check_axis, check_length, check_references
from rag.config.plain_overrides import alternatives, plain
from rag.config.resolver import Resolver, no_data
from rag.config.stand_ins import STAND_INS, stand_ins
from rag.config.yaml_files import read
from rag.core.errors import ConfigError, closest
from rag.core.files import shipped

if TYPE_CHECKING:
    from hydra.core.override_parser.types import Override

__all__ = [
    *("HELPER", "LISTS", "check_override", "choices", "compose", "composing", "expanded", "is_group", "no_data", "parsed"),
    *("plugins", "resolve", "search_folders", "shipped", "written"),
]

OF_MODELS = ("citations", "numbers")
"""Further checks of the replies of a model, which flag."""
HELPER = "helper"
"""The key with the model that components share. They hold its values once a config is resolved; it is left out then."""


def compose(overrides: Sequence[str]) -> dict[str, Any]:
    """The wiring with some overrides, interpolations not resolved; its values are shared and must not be changed.

    ConfigError for anything that is not valid.
    """
    settings = parsed(overrides)
    with composing() as made:
        for override in settings:
            check_override(override)
        late = [override for override in settings if override.key_or_group.startswith("check.")]
        config = dict(_composed(made, [override for override in settings if override not in late]))
        config = dict(made.with_values(config | {"check": _checks(made, config, settings)}, late))
    for key in _wiring():
        if key not in config:
            if known := choices(key):
                raise ConfigError(key, "names nothing", f"there is: {', '.join(known)}")
            raise ConfigError(key, "is left out", f"set {key}=<value>")
    if Resolver()("data", config) is None:
        del config["data"]  # else a path would become `None/…` instead of an error
    return config


def _checks(made: Composer, config: Config, settings: "Sequence[Override]") -> Config:
    """The checks of a config: with a model also OF_MODELS, unless an override or a preset chooses checks."""
    presets = [choice(PRESET, str(each.value())).get("defaults") for each in settings if each.key_or_group == PRESET]
    chosen = "override /check" in str(presets) or "check" in (each.key_or_group for each in settings)
    open_ = not chosen and "model" in (config.get("generator") or {}) and [*config["check"]] == ["off_topic"]
    return {**config["check"], **(made.config(parsed([f"check=[{','.join(OF_MODELS)}]"]))["check"] if open_ else {})}


def is_group(name: str) -> bool:
    """Whether there is a config group of this name."""
    with composing() as made:
        return made.is_group(name)


def _composed(made: Composer, settings: "Sequence[Override]") -> Config:
    """The wiring, or a preset on this machine: what it lacks is replaced, and `stand_ins` says by what.

    The values that a preset gives to a group do not apply to another choice for that group.
    """
    named = [override for override in settings if override.key_or_group == PRESET]
    whole = None if named else made.config(settings)
    declared = choice(PRESET, str(named[-1].value())).get(STAND_INS, []) if whole is None else whole.get(STAND_INS)
    if whole is not None and declared is None:
        return whole
    chosen = [override for override in settings if made.is_group(override.key_or_group) and override not in named]
    instead, sentences = stand_ins(declared, {override.key_or_group: override.value() for override in chosen})
    chosen = [*parsed(instead), *chosen]
    config, alone = (dict(made.config([*preset, *chosen])) for preset in (named, parsed([f"{PRESET}={NONE}"])))
    if odd := [key for key in config if key not in (*alone, STAND_INS)]:
        raise ConfigError("preset", f"sets {odd[0]!r}, which is not in the wiring", closest(odd[0], alone))
    for group in {override.key_or_group for override in chosen} & alone.keys():
        config[group] = alone[group]
    unread = made.config([*named, *(each for each in chosen if each.key_or_group not in ("dataset", "loader"))])
    if alone["loader"].get("_target_") != unread["loader"].get("_target_"):
        sentences += _not_applied(config, alone)
        config["loader"] = alone["loader"]
    config = dict(made.with_values(config, [each for each in settings if not made.is_group(each.key_or_group)]))
    config.pop(STAND_INS, None)
    return config | ({STAND_INS: sentences} if sentences else {})


def _not_applied(config: Config, alone: Config) -> list[str]:
    """A sentence on the values of a preset for a loader that the chosen data set does not use; none if there are none."""
    lost = [f"loader.{key}" for key in config["loader"] if key not in alone["loader"]]
    verb = "does" if len(lost) == 1 else "do"
    return [f"the data set has a loader of its own: {' '.join(lost)} of the preset {verb} not apply"] if lost else []


@lru_cache(maxsize=1)
def _wiring() -> tuple[str, ...]:
    content = dict(read(shipped("conf") / "config.yaml").mapping)
    groups = [group for part in content.pop("defaults") if isinstance(part, dict) for group in part]
    return tuple(key for key in (*groups, *content) if key != PRESET)


def check_override(override: "Override") -> None:
    """Raise ConfigError for overrides that Hydra would refuse with a worse message, or misunderstand."""
    line, key, value = override.input_line, override.key_or_group, override.value()
    if not key or key.split(".")[0].split("/")[0] == "hydra":
        raise ConfigError(line or "override", "names no key of the wiring", "see conf/config.yaml for what can be set")
    if override.is_sweep_override():
        remedy = f"a list is {key}=[a,b]; to try each: an axis, or rag study run -m"
        raise ConfigError(line or key, "names several values", remedy)
    if isinstance(value, str):
        check_text(key, value)
    if override.is_delete() or not is_group(key):
        return
    for name in value if isinstance(value, list) and key in LISTS else [value]:
        files = [path for folder in search_folders() if (path := folder / key / f"{name}.yaml").is_file()]
        if not isinstance(name, str) or not files:
            own = key == "dataset" and name not in ("", None) and Path(str(name)).is_dir()
            path = shlex.quote(written("dataset.path", str(name)))
            remedy = f"for a folder of your own: native {path}" if own else closest(str(name), choices(key))
            also = ", and no such folder" if key == "dataset" and "/" in str(name) and not own else ""
            raise ConfigError(key, f"there is no choice {name!r}{also}", remedy)


def resolve(config: Mapping[str, Any]) -> dict[str, Any]:
    """Plain values with all interpolations resolved; ConfigError for a missing value."""
    resolver = Resolver()
    return {key: resolver(key, config) for key in config if key != HELPER}


def parsed(overrides: Sequence[str]) -> "list[Override]":
    """Overrides in Hydra's grammar, sweeps (`k=3,5`) among them."""
    return [_parsed(override) for override in overrides]


@lru_cache(maxsize=4096)
def _parsed(override: str) -> "Override":
    check_length(override)
    if found := plain(override):
        return found
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import HydraException

    try:
        read = OverridesParser.create().parse_override(override)
        check_references(read.key_or_group, "" if read.is_sweep_override() else read.value())
        return read
    except ValueError as error:
        what = f"is not a valid override: {str(error).split(';')[0]}"
        raise ConfigError(override[:60], what, "write a shorter number") from error
    except HydraException as error:
        key, _, text = override.partition("=")
        if "token recognition error" in str(error) and not re.search(r"[\[\]{}()'\",$]", text):
            return _parsed(written(key, text))  # a letter or sign outside of the grammar: this can only be text
        bare = bool(override.strip("~")) and "=" not in override
        reason = "has no '='" if bare else f"is not a valid override: {str(error).splitlines()[0].split(' expecting {')[0]}"
        remedy = f"write key=value, or key=a,b,c for several{'; put a question in quotes' if bare else ''}"
        if "token recognition error" in reason:
            remedy = f"put the value in quotes of its own: {shlex.quote(written(*override.split('=', 1)))}"
        raise ConfigError(override or "override", reason, remedy) from error


def written(key: str, value: Any) -> str:
    """An override in Hydra's grammar; its value is quoted where the grammar needs that, as for a tilde in front."""
    text = str(value)
    plain = re.fullmatch(r"(?!~)[\w./:~+-]*", text, re.ASCII) or not isinstance(value, str)
    return f"{key}={text}" if plain else f'{key}="{text.replace(chr(34), chr(92) + chr(34))}"'


def expanded(override: str) -> list[str]:
    """The single overrides of one in sweep syntax; the override itself if it is not a sweep."""
    check_length(override)
    if singles := alternatives(override):
        check_axis(override, singles)
        return singles
    (single,) = parsed([override])
    if not single.is_sweep_override():
        return [override]
    key, values = single.get_key_element(), single.value()
    check_axis(override, values)
    from hydra.core.override_parser.types import Glob

    # Hydra matches patterns only in a multirun of its own.
    matching = values.filter(choices(single.key_or_group)) if isinstance(values, Glob) else single.sweep_string_iterator()
    if not (singles := [f"{key}={value}" for value in matching]):
        raise ConfigError(override, "matches no choice", f"there is: {', '.join(choices(single.key_or_group)) or 'nothing'}")
    return singles
