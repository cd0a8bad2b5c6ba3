"""Hydra with the folders of `search_folders`.

What it read and composed is kept until one of its files changes; a block of `hydra_ready` looks at the files once.
"""

import copy
import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from glob import glob
from pathlib import Path
from typing import Any

from hydra import compose as hydra_compose
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.config_repository import CachingConfigRepository, ConfigRepository
from hydra._internal.config_search_path_impl import ConfigSearchPathImpl
from hydra._internal.hydra import Hydra
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.types import Override
from hydra.core.plugins import Plugins
from omegaconf import DictConfig, OmegaConf

from rag.config.catalog import search_folders
from rag.config.limits import check_references, check_size
from rag.config.nested_choices import open_choice
from rag.core.errors import ConfigError
from rag.core.files import shipped

log = logging.getLogger(__name__)
PROVIDERS = "first_with_key"
"""The key of a file in `conf/` that stands for other choices of its group, each with the variable of its key."""

Stamps = tuple[tuple[str, int, int, int], ...]
"""Path, time of change, size and inode of files."""


def config_folder(folder: str) -> str:
    """A folder here, else the shipped one, else the name as it is, for the error of what reads it."""
    return folder if Path(folder).is_dir() or not shipped(folder).is_dir() else str(shipped(folder))


class ReadOnce(CachingConfigRepository):  # type: ignore[misc]
    """Hydra's cache of the files of one composition, kept for later ones."""

    def __init__(self, delegate: ConfigRepository) -> None:
        super().__init__(delegate)
        self.stamps = _stamps()
        self.cache = _files(self.stamps)

    def __deepcopy__(self, memo: object) -> "ReadOnce":
        return self

    def load_config(self, config_path: str) -> Any:
        """Return a copy, because Hydra changes the configs that it composes; for a list of providers that of one of them."""
        if f"config_path={config_path}" not in self.cache:
            check_size(*(folder / f"{config_path.removesuffix('.yaml')}.yaml" for folder in search_folders()))
        loaded = copy.deepcopy(super().load_config(config_path))
        for default in (loaded and loaded.defaults_list) or ():
            check_references(f"{config_path}: defaults", repr(default))
        if loaded is None or PROVIDERS not in loaded.config:
            return loaded
        group = config_path.rpartition("/")[0]
        return self.load_config(f"{group}/{_provider(group, loaded.config)}")


def _provider(group: str, listed: Mapping[str, Any]) -> str:
    """The first choice of a group whose key is set; ConfigError without any."""
    variables = dict(listed[PROVIDERS])
    if found := next((name for name, variable in variables.items() if os.environ.get(variable, "").strip()), None):
        return str(found)
    what = f"is to be a provider with a key, and none is set of {', '.join(variables.values())}"
    raise ConfigError(group, what, f"export one of them, or write it into .env; {listed['otherwise']}")


@contextmanager
def hydra_ready() -> Iterator[None]:
    """Start Hydra with the folders of `search_folders`; it ends with the block."""
    _name_replaced()
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


def _name_replaced() -> None:
    """Log the files in the working folder's `conf/` that replace another content of ours; the command line shows each once."""
    own, *ours = search_folders()
    for path in sorted(own.rglob("*.yaml")) if own != shipped("conf") else ():
        name = path.relative_to(own)
        replaced = next((found for folder in ours if (found := folder / name).is_file()), path)
        if replaced.read_bytes() != path.read_bytes():
            log.info("%s replaces the file of the same name that Assay ships.", Path("conf") / name)


def is_group(name: str) -> bool:
    """Whether there is a config group of this name; call it within `hydra_ready`."""
    return bool(GlobalHydra.instance().config_loader().repository.group_exists(name))


def compose_overrides(overrides: Sequence[Override]) -> DictConfig:
    """The config that Hydra composes; call it within `hydra_ready`.

    Choices of groups take nearly all of the time. What they give is kept; values are set in a copy.
    """
    choices: list[Override] = []
    values: list[Override] = []
    for override in overrides:
        (choices if is_group(override.key_or_group) and not isinstance(override.value(), dict) else values).append(override)
    stamps = GlobalHydra.instance().config_loader().repository.stamps
    present = frozenset(name for name, value in os.environ.items() if value.strip())
    config = copy.deepcopy(_choices(tuple(str(choice.input_line) for choice in choices), stamps, present))
    set_values(config, values)
    return config


def set_values(config: DictConfig, values: Sequence[Override]) -> None:
    """Set values in a config as Hydra does for overrides of the command line."""
    for value in values:
        open_choice(config, value.key_or_group)
        ConfigLoaderImpl._apply_overrides_to_config([value], config)


@lru_cache(maxsize=64)
def _choices(overrides: tuple[str, ...], stamps: Stamps, present: frozenset[str]) -> DictConfig:
    """The config under choices of groups, with these variables in the environment; callers share it."""
    config: DictConfig = hydra_compose("config", overrides=list(overrides))
    check_references("", OmegaConf.to_container(config, resolve=False))
    return config


@lru_cache(maxsize=2)
def _files(stamps: Stamps) -> dict[str, Any]:
    """The files that Hydra has read, by config path; empty at first."""
    return {}


def _stamps() -> Stamps:
    """The state of every file that a composition may read."""
    paths = (path for folder in search_folders() for path in glob(f"{folder}/**/*.yaml", recursive=True))
    states = ((path, os.stat(path)) for path in paths if os.path.exists(path))
    return tuple((path, state.st_mtime_ns, state.st_size, state.st_ino) for path, state in states)
