"""Overrides → resolved configs, through Hydra. A user's own `conf/` comes first, then ours, then those of plugins."""

import re
import shlex
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Glob, Override
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf, open_dict
from omegaconf.errors import InterpolationToMissingValueError, MissingMandatoryValue, OmegaConfBaseException
from yaml import YAMLError

from rag.config.catalog import LISTS, NONE, PRESET, choice, choices, plugins, search_folders
from rag.config.hydra_session import compose_overrides, hydra_ready, is_group, set_values
from rag.config.limits import check_axis, check_length, check_mapping, check_references
from rag.config.nested_choices import LANGUAGE, with_choices
from rag.config.stand_ins import STAND_INS, stand_ins
from rag.core.errors import ConfigError, closest
from rag.core.files import shipped

HELPER = "helper"
"""The key with the model that components share. They hold its values once a config is resolved; it is left out then."""


def compose(overrides: Sequence[str]) -> DictConfig:
    """The wiring with some overrides, interpolations not resolved; call it within `hydra_ready`."""
    settings = parsed(overrides)
    for override in settings:
        check_override(override)
    try:
        config = _composed(settings)
    except (HydraException, OmegaConfBaseException, YAMLError, ValueError, OSError) as error:
        raise _explained(error, overrides) from error
    for key in _wiring():
        if key not in config:
            known = choices(key)
            what, remedy = (
                ("names nothing", f"there is: {', '.join(known)}") if known else ("is left out", f"set {key}=<value>")
            )
            raise ConfigError(key, what, remedy)
    if config.data is None:
        with open_dict(config):
            del config["data"]  # else a path would become `None/…` instead of an error
    return config


def _composed(settings: Sequence[Override]) -> DictConfig:
    """The wiring, or a preset on this machine: what it lacks is replaced, and `stand_ins` says by what.

    The values that a preset gives to a group do not apply to another choice for that group.
    """
    named = [override for override in settings if override.key_or_group == PRESET]
    whole = None if named else compose_overrides(settings)
    declared = choice(PRESET, str(named[-1].value())).get(STAND_INS, []) if whole is None else whole.get(STAND_INS)
    if whole is not None and declared is None:
        return whole
    chosen = [override for override in settings if is_group(override.key_or_group) and override not in named]
    instead, sentences = stand_ins(declared, [override.key_or_group for override in chosen])
    chosen = [*parsed(instead), *chosen]
    config, alone = (compose_overrides([*preset, *chosen]) for preset in (named, parsed([f"{PRESET}={NONE}"])))
    if odd := [str(key) for key in config if key not in (*alone, STAND_INS)]:
        raise ConfigError("preset", f"sets {odd[0]!r}, which is not in the wiring", closest(odd[0], map(str, alone)))
    for group in {override.key_or_group for override in chosen} & alone.keys():
        config[group] = alone[group]
    unread = compose_overrides(
        [*named, *(override for override in chosen if override.key_or_group not in ("dataset", "loader"))]
    )
    if alone.loader.get("_target_") != unread.loader.get("_target_"):
        sentences += _not_applied(config, alone)
        config.loader = alone.loader
    set_values(config, [override for override in settings if not is_group(override.key_or_group)])
    with open_dict(config):
        config.pop(STAND_INS, None)
        if sentences:
            config[STAND_INS] = sentences
    return config


def _not_applied(config: DictConfig, alone: DictConfig) -> list[str]:
    """A sentence on the values of a preset for a loader that the chosen data set does not use; none if there are none."""
    lost = [f"loader.{key}" for key in config.loader if key not in alone.loader]
    return (
        [f"the data set has a loader of its own: {' '.join(lost)} of the preset {'does' if len(lost) == 1 else 'do'} not apply"]
        if lost
        else []
    )


def no_data(where: str) -> ConfigError:
    """The error for a public data set where RAG_DATA is not set."""
    listed = f"{shipped('datasets') / 'README.md'} lists them, with their sources"
    return ConfigError(where, "needs a public data set", f"export RAG_DATA=<the folder with the data sets>; {listed}")


@lru_cache(maxsize=1)
def _wiring() -> tuple[str, ...]:
    """The keys that every config must have."""
    content = yaml.safe_load((shipped("conf") / "config.yaml").read_text("utf-8"))
    groups = [group for part in content.pop("defaults") if isinstance(part, dict) for group in part]
    return tuple(key for key in (*groups, *content) if key != PRESET)


def check_override(override: Override) -> None:
    """Raise ConfigError for overrides that Hydra would refuse with a worse message, or misunderstand."""
    line, key, value = override.input_line, override.key_or_group, override.value()
    if not key or key.split(".")[0].split("/")[0] == "hydra":
        raise ConfigError(line or "override", "names no key of the wiring", "see conf/config.yaml for what can be set")
    if override.is_sweep_override():
        raise ConfigError(
            line or key, "names several values", f"a list is {key}=[a,b]; to try each: an axis, or rag study run -m"
        )
    if override.is_delete() or not any((folder / key).is_dir() for folder in search_folders()):
        return
    for name in value if isinstance(value, list) and key in LISTS else [value]:
        files = [path for folder in search_folders() if (path := folder / key / f"{name}.yaml").is_file()]
        if not isinstance(name, str) or not files:
            own = key == "dataset" and name not in ("", None) and Path(str(name)).is_dir()
            path = shlex.quote(written("dataset.path", str(name)))
            remedy = f"for a folder of your own: native {path}" if own else closest(str(name), choices(key))
            also = ", and no such folder" if key == "dataset" and "/" in str(name) and not own else ""
            raise ConfigError(key, f"there is no choice {name!r}{also}", remedy)
        check_mapping(files[0])


def _explained(error: Exception, overrides: Sequence[str]) -> ConfigError:
    reason = " ".join(str(error if str(error) else error.__cause__).split("Config search path")[0].split())
    command = " ".join(overrides) or "conf/config.yaml"
    if match := re.search(r"Could not (?:find|load) '([^']+)'", reason):
        group, _, choice = match[1].rpartition("/")
        return ConfigError(group or command, f"there is no choice {choice!r}", closest(choice, choices(group)))
    if match := re.search(r"Could not (?:override|append to|delete from)\b.*?'([^']+)'", reason):
        return _misspelt(match[1], overrides) or ConfigError(match[1], reason, "with ++ in front it is set, there or not")
    if isinstance(error, YAMLError | UnicodeDecodeError):
        return ConfigError(_unreadable(error), f"is not valid YAML ({getattr(error, 'problem', reason)})", "fix it there")
    return ConfigError(command, reason, "see conf/config.yaml for what can be set; a new key takes a + in front")


def _misspelt(key: str, overrides: Sequence[str]) -> ConfigError | None:
    """The error for a key that does not exist, with its first part that does not, and the closest names."""
    others = [override for override in overrides if override.lstrip("+~").split("=")[0] != key]
    try:
        node: Any = compose_overrides(parsed(others))
    except (HydraException, OmegaConfBaseException, ValueError):
        return None
    path = re.split(r"[./]", key)
    for number, part in enumerate(path):
        if not isinstance(node, DictConfig):
            return ConfigError(key, f"{'.'.join(path[:number])} is {node!r} and holds no keys", "leave out the rest of the key")
        if part not in node:
            known = [str(name) for name in node if not str(name).startswith("_")]
            where = ".".join(path[:number]) or "the wiring"
            return ConfigError(key, f"there is no {part!r} in {where}", f"{closest(part, known)}; a new key takes a +")
        node = node._get_node(part) if OmegaConf.is_interpolation(node, part) else node[part]
    return None


def _unreadable(error: Exception) -> str:
    """The file that a YAML error speaks of."""
    if mark := getattr(error, "problem_mark", None):
        return f"{mark.name}:{mark.line + 1}"
    for path in (path for folder in search_folders() for path in folder.rglob("*.yaml")):
        try:
            path.read_text("utf-8")
        except ValueError:
            return str(path)
    return "conf"


def resolve(config: DictConfig) -> dict[str, Any]:
    """Plain values with all interpolations resolved; ConfigError for a missing value."""
    try:
        plain = OmegaConf.to_container(config, resolve=True, throw_on_missing=True)
    except OmegaConfBaseException as error:
        raise _unresolved(error) from error
    values = dict(plain) if isinstance(plain, dict) else {}
    return {str(key): with_choices(value, str(key), values.get(LANGUAGE)) for key, value in values.items() if key != HELPER}


def _unresolved(error: Exception) -> ConfigError:
    key, said = str(getattr(error, "full_key", None) or "config"), str(error).splitlines()[0]
    if match := re.search(r"Environment variable '([^']+)' not found", said):
        return ConfigError(key, f"needs the environment variable {match[1]}", f"export {match[1]}=<value>, or {key}=<value>")
    if "Interpolation key 'data' not found" in said:
        return no_data(key)
    if isinstance(error, InterpolationToMissingValueError) and (match := re.search(r"Missing mandatory value: (\S+)", said)):
        key = match[1]
    elif not isinstance(error, MissingMandatoryValue):
        return ConfigError(key, said, f"fix the ${{...}} in it, or give {key}=<value>")
    return ConfigError(key, "has no value yet", f"give it: {key}=<value>")


def parsed(overrides: Sequence[str]) -> list[Override]:
    """Overrides in Hydra's grammar, sweeps (`k=3,5`) among them."""
    return [_parsed(override) for override in overrides]


@lru_cache(maxsize=4096)
def _parsed(override: str) -> Override:
    check_length(override)
    try:
        read = OverridesParser.create().parse_override(override)
        check_references(read.key_or_group, "" if read.is_sweep_override() else read.value())
        return read
    except ValueError as error:
        raise ConfigError(
            override[:60], f"is not a valid override: {str(error).split(';')[0]}", "write a shorter number"
        ) from error
    except HydraException as error:
        key, _, text = override.partition("=")
        if "token recognition error" in str(error) and not re.search(r"[\[\]{}()'\",$]", text):
            return _parsed(written(key, text))  # a letter or sign outside of the grammar: this can only be text
        bare = bool(override.strip("~")) and "=" not in override
        reason = "has no '='" if bare else f"is not a valid override: {_grammar(error)}"
        remedy = f"write key=value, or key=a,b,c for several{'; put a question in quotes' if bare else ''}"
        if "token recognition error" in reason:
            remedy = f"put the value in quotes of its own: {shlex.quote(written(*override.split('=', 1)))}"
        raise ConfigError(override or "override", reason, remedy) from error


def written(key: str, value: Any) -> str:
    """An override in Hydra's grammar; its value is quoted where the grammar needs that."""
    text = str(value)
    plain = re.fullmatch(r"[\w./:~+-]*", text, re.ASCII) or not isinstance(value, str)
    return f"{key}={text}" if plain else f'{key}="{text.replace(chr(34), chr(92) + chr(34))}"'


def _grammar(error: Exception) -> str:
    """The message of the parser without its list of expected tokens."""
    return str(error).splitlines()[0].split(" expecting {")[0]


def expanded(override: str) -> list[str]:
    """The single overrides of one in sweep syntax; the override itself if it is not a sweep."""
    (single,) = parsed([override])
    if not single.is_sweep_override():
        return [override]
    key, values = single.get_key_element(), single.value()
    check_axis(override, values)
    # Hydra matches patterns only in a multirun of its own.
    matching = values.filter(choices(single.key_or_group)) if isinstance(values, Glob) else single.sweep_string_iterator()
    if not (singles := [f"{key}={value}" for value in matching]):
        raise ConfigError(override, "matches no choice", f"there is: {', '.join(choices(single.key_or_group)) or 'nothing'}")
    return singles
