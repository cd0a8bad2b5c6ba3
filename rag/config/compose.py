"""Overrides → resolved configs, through Hydra. A user's own `conf/` comes first, then ours, then those of plugins."""

import copy
import re
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml
from hydra import compose as hydra_compose
from hydra._internal.config_repository import CachingConfigRepository
from hydra._internal.config_search_path_impl import ConfigSearchPathImpl
from hydra._internal.hydra import Hydra
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Glob, Override
from hydra.core.plugins import Plugins
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf, open_dict
from omegaconf.errors import InterpolationToMissingValueError, MissingMandatoryValue, OmegaConfBaseException
from yaml import YAMLError

from rag.config.catalog import LISTS as LISTS
from rag.config.catalog import choice as choice
from rag.config.catalog import choices as choices
from rag.config.catalog import plugins as plugins
from rag.config.catalog import search_folders as search_folders
from rag.config.limits import check_axis, check_length, check_size
from rag.core.errors import ConfigError, closest
from rag.core.files import shipped as shipped


def config_folder(folder: str) -> str:
    """A folder here, else the shipped one, else as it was named: whoever reads it says that it is not there."""
    return folder if Path(folder).is_dir() or not shipped(folder).is_dir() else str(shipped(folder))


class ReadOnce(CachingConfigRepository):  # type: ignore[misc]
    """Hydra's cache of the files of one composition, kept for the next: half of the time goes into reading them."""

    def __deepcopy__(self, memo: object) -> "ReadOnce":
        return self

    def load_config(self, config_path: str) -> Any:
        """A copy: composing changes what it was given."""
        if config_path not in self.cache:
            check_size(*(folder / f"{config_path.removesuffix('.yaml')}.yaml" for folder in search_folders()))
        return copy.deepcopy(super().load_config(config_path))


@contextmanager
def hydra_ready() -> Iterator[None]:
    """Hydra, looking into the folders of `search_folders`; a file is read once, however often is composed inside."""
    path = ConfigSearchPathImpl()
    for folder in search_folders():
        path.append("assay", f"file://{folder}")
    path.append("hydra", "pkg://hydra.conf")
    path.append("schema", "structured://")
    GlobalHydra.instance().clear()
    OmegaConf.register_new_resolver("found", config_folder, replace=True)
    Plugins.instance()  # registers what can read file:// and pkg://
    loader = Hydra.create_main_hydra2("assay", path).config_loader
    loader.repository = ReadOnce(loader.repository)
    try:
        yield
    finally:
        GlobalHydra.instance().clear()


def compose(overrides: Sequence[str]) -> DictConfig:
    """The wiring under some overrides, interpolations still open; call it within `hydra_ready`."""
    for override in parsed(overrides):
        check_override(override)
    try:
        config: DictConfig = hydra_compose("config", overrides=list(overrides))
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
            del config["data"]  # what needs it is then an error of its own, and not the path `None/…`
    return config


def no_data(where: str) -> ConfigError:
    """The error for what needs a public data set where no folder of them is named."""
    listed = f"{shipped('datasets') / 'README.md'} lists them, with their sources"
    return ConfigError(where, "needs a public data set", f"export RAG_DATA=<the folder with the data sets>; {listed}")


def is_group(name: str) -> bool:
    """Whether there is a config group of this name; call it within `hydra_ready`."""
    return bool(GlobalHydra.instance().config_loader().repository.group_exists(name))


@lru_cache(maxsize=1)
def _wiring() -> tuple[str, ...]:
    """The keys that every config must have."""
    content = yaml.safe_load((shipped("conf") / "config.yaml").read_text("utf-8"))
    groups = [group for choice in content.pop("defaults") if isinstance(choice, dict) for group in choice]
    return (*groups, *content)


def check_override(override: Override) -> None:
    """Raise ConfigError for what Hydra would refuse in its own words, or take for something else than was meant."""
    line, key, value = override.input_line, override.key_or_group, override.value()
    if not key or key.split(".")[0].split("/")[0] == "hydra":
        raise ConfigError(line or "override", "names no key of the wiring", "see conf/config.yaml for what can be set")
    if override.is_sweep_override():
        raise ConfigError(line or key, "names several values", f"a list is {key}=[a,b]; to try each: an axis, or rag run -m")
    if override.is_delete() or not any((folder / key).is_dir() for folder in search_folders()):
        return
    for name in value if isinstance(value, list) and key in LISTS else [value]:
        files = [path for folder in search_folders() if (path := folder / key / f"{name}.yaml").is_file()]
        if not isinstance(name, str) or not files:
            own = key == "dataset" and name not in ("", None) and Path(str(name)).is_dir()
            remedy = f"for a folder of your own: native dataset.path={name}" if own else closest(str(name), choices(key))
            raise ConfigError(key, f"there is no choice {name!r}", remedy)
        _check_mapping(files[0], files[0].stat().st_mtime_ns)


@lru_cache(maxsize=512)
def _check_mapping(path: Path, changed: int) -> None:
    """Raise ConfigError, naming file and line, for a choice that is text, a list or nothing; what is no YAML is found later."""
    try:
        node = yaml.compose(path.read_text("utf-8"), yaml.SafeLoader)
    except (YAMLError, ValueError):
        return
    if not isinstance(node, yaml.MappingNode):
        held = "a list" if isinstance(node, yaml.SequenceNode) else "text" if node else "nothing"
        line = node.start_mark.line + 1 if node else 1
        remedy = "write `key: value` lines, beginning with _target_: <class>"
        raise ConfigError(f"{path}:{line}", f"holds {held}, not a mapping", remedy)


def _explained(error: Exception, overrides: Sequence[str]) -> ConfigError:
    said = " ".join(str(error if str(error) else error.__cause__).split("Config search path")[0].split())
    shown = " ".join(overrides) or "conf/config.yaml"
    if match := re.search(r"Could not (?:find|load) '([^']+)'", said):
        group, _, choice = match[1].rpartition("/")
        return ConfigError(group or shown, f"there is no choice {choice!r}", closest(choice, choices(group)))
    if match := re.search(r"Could not (?:override|append to|delete from)\b.*?'([^']+)'", said):
        return _misspelt(match[1], overrides) or ConfigError(match[1], said, "with ++ in front it is set, there or not")
    if isinstance(error, YAMLError | UnicodeDecodeError):
        return ConfigError(_unreadable(error), f"is no YAML ({getattr(error, 'problem', said)})", "mend it there")
    return ConfigError(shown, said, "see conf/config.yaml for what can be set; a new key takes a + in front")


def _misspelt(key: str, overrides: Sequence[str]) -> ConfigError | None:
    """What is wrong with a key that is not there: the first part of it that is not, and what comes close."""
    others = [override for override in overrides if override.lstrip("+~").split("=")[0] != key]
    try:
        node: Any = hydra_compose("config", overrides=others)
    except (HydraException, OmegaConfBaseException, ValueError):
        return None
    path = re.split(r"[./]", key)
    for number, part in enumerate(path):
        if not isinstance(node, DictConfig):
            return ConfigError(
                key, f"{'.'.join(path[:number])} is {node!r} and holds no keys", "leave out what stands behind it"
            )
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
    """Plain values: interpolations filled in, nothing missing."""
    try:
        plain = OmegaConf.to_container(config, resolve=True, throw_on_missing=True)
    except OmegaConfBaseException as error:
        raise _unresolved(error) from error
    return {str(key): value for key, value in dict(plain).items()} if isinstance(plain, dict) else {}


def _unresolved(error: Exception) -> ConfigError:
    key, said = str(getattr(error, "full_key", None) or "config"), str(error).splitlines()[0]
    if match := re.search(r"Environment variable '([^']+)' not found", said):
        return ConfigError(key, f"needs the environment variable {match[1]}", f"export {match[1]}=<value>, or {key}=<value>")
    if "Interpolation key 'data' not found" in said:
        return no_data(key)
    if isinstance(error, InterpolationToMissingValueError) and (match := re.search(r"Missing mandatory value: (\S+)", said)):
        key = match[1]
    elif not isinstance(error, MissingMandatoryValue):
        return ConfigError(key, said, f"mend the ${{...}} in it, or give {key}=<value>")
    return ConfigError(key, "has no value yet", f"give it: {key}=<value>")


def parsed(overrides: Sequence[str]) -> list[Override]:
    """Overrides in Hydra's grammar, sweeps (`k=3,5`) among them."""
    return [_parsed(override) for override in overrides]


@lru_cache(maxsize=4096)
def _parsed(override: str) -> Override:
    check_length(override)
    try:
        return OverridesParser.create().parse_override(override)
    except ValueError as error:
        raise ConfigError(override[:60], f"is no override: {str(error).split(';')[0]}", "write a shorter number") from error
    except HydraException as error:
        bare = bool(override.strip("~")) and "=" not in override
        said = "has no '='" if bare else f"is no override: {_grammar(error)}"
        remedy = f"write key=value, or key=a,b,c for several{'; put a question in quotes' if bare else ''}"
        if "token recognition error" in said:
            remedy = f"put the value in quotes of its own: {shlex.quote(written(*override.split('=', 1)))}"
        raise ConfigError(override or "override", said, remedy) from error


def written(key: str, value: Any) -> str:
    """An override in Hydra's grammar; its value in quotes where it is text that this grammar does not take as it is."""
    text = str(value)
    plain = re.fullmatch(r"[\w./:~+-]*", text, re.ASCII) or not isinstance(value, str)
    return f"{key}={text}" if plain else f'{key}="{text.replace(chr(34), chr(92) + chr(34))}"'


def _grammar(error: Exception) -> str:
    """What a parser says, without the list of everything that could have stood there."""
    return str(error).splitlines()[0].split(" expecting {")[0]


def expanded(override: str) -> list[str]:
    """The single overrides that one in sweep syntax stands for; itself when it is no sweep."""
    (single,) = parsed([override])
    if not single.is_sweep_override():
        return [override]
    key, values = single.get_key_element(), single.value()
    check_axis(override, values)
    # Patterns are matched here: Hydra would, within a run of its own.
    found = values.filter(choices(single.key_or_group)) if isinstance(values, Glob) else single.sweep_string_iterator()
    if not (singles := [f"{key}={value}" for value in found]):
        raise ConfigError(override, "fits no choice", f"there is: {', '.join(choices(single.key_or_group)) or 'nothing'}")
    return singles
