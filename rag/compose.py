"""Overrides → resolved configs, through Hydra. A user's own `conf/` comes first, then ours, then those of plugins."""

import importlib.metadata
import importlib.util
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hydra import compose as hydra_compose
from hydra._internal.config_search_path_impl import ConfigSearchPathImpl
from hydra._internal.hydra import Hydra
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.core.plugins import Plugins
from hydra.errors import HydraException, MissingConfigException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from rag.errors import ConfigError

PLUGINS = "rag.plugins"


def shipped(folder: str) -> Path:
    """`conf` or `experiments` as they came with this installation."""
    inside = Path(__file__).parent / folder
    return inside if inside.is_dir() else Path(__file__).parent.parent / folder


def plugins() -> tuple[str, ...]:
    """Top-level packages that declare the entry point group `rag.plugins`; installing one is trusting it."""
    return tuple(sorted({point.value.split(":")[0].split(".")[0] for point in importlib.metadata.entry_points(group=PLUGINS)}))


def search_folders() -> list[Path]:
    """Where choices are looked for, first found first used."""
    folders = [Path.cwd() / "conf", shipped("conf")]
    for package in plugins():
        spec = importlib.util.find_spec(package)
        folders += [Path(place) / "conf" for place in (spec and spec.submodule_search_locations) or ()]
    return [folder for number, folder in enumerate(folders) if folder.is_dir() and folder not in folders[:number]]


@contextmanager
def hydra_ready() -> Iterator[None]:
    """Hydra, looking into the folders of `search_folders`; several compositions inside share its caches."""
    path = ConfigSearchPathImpl()
    for folder in search_folders():
        path.append("assay", f"file://{folder}")
    path.append("hydra", "pkg://hydra.conf")
    path.append("schema", "structured://")
    GlobalHydra.instance().clear()
    Plugins.instance()  # registers what can read file:// and pkg://
    Hydra.create_main_hydra2("assay", path)
    try:
        yield
    finally:
        GlobalHydra.instance().clear()


def compose(overrides: Sequence[str]) -> DictConfig:
    """The wiring under some overrides, interpolations still open; call it within `hydra_ready`."""
    try:
        config: DictConfig = hydra_compose("config", overrides=list(overrides))
    except (HydraException, OmegaConfBaseException) as error:
        raise _explained(error, overrides) from error
    return config


def _explained(error: Exception, overrides: Sequence[str]) -> ConfigError:
    said = re.sub(r"\s+", " ", str(error).split("Set the environment variable")[0]).strip()
    shown = " ".join(overrides) or "conf/config.yaml"
    if isinstance(error, MissingConfigException) and (match := re.search(r"Could not find '([^']+)'", said)):
        group, _, choice = match[1].rpartition("/")
        return ConfigError(group or shown, f"there is no choice {choice!r}", f"there is: {', '.join(choices(group))}")
    return ConfigError(shown, said, "see conf/config.yaml for what can be set; a new key takes a + in front")


def choices(group: str) -> list[str]:
    """The names that a config group offers."""
    return sorted({path.stem for folder in search_folders() for path in (folder / group).glob("*.yaml")})


def resolve(config: DictConfig) -> dict[str, Any]:
    """Plain values: interpolations filled in, nothing missing."""
    try:
        plain = OmegaConf.to_container(config, resolve=True, throw_on_missing=True)
    except OmegaConfBaseException as error:
        key = getattr(error, "full_key", None) or "config"
        first = str(error).splitlines()[0]
        raise ConfigError(str(key), first, f"give it: {key}=<value>") from error
    return {str(key): value for key, value in dict(plain).items()} if isinstance(plain, dict) else {}


def parsed(overrides: Sequence[str]) -> list[Override]:
    """Overrides in Hydra's grammar, sweeps (`k=3,5`) among them."""
    try:
        return list(OverridesParser.create().parse_overrides(list(overrides)))
    except HydraException as error:
        raise ConfigError(
            " ".join(overrides), str(error).splitlines()[0], "write key=value, or key=a,b,c for several"
        ) from error


def expanded(override: str) -> list[str]:
    """The single overrides that one in sweep syntax stands for; itself when it is no sweep."""
    (single,) = parsed([override])
    if not single.is_sweep_override():
        return [override]
    key = single.get_key_element()
    return [f"{key}={value}" for value in single.sweep_string_iterator()]
