"""Names that a command line can give: experiments, and the choices of config groups."""

import importlib.metadata
import importlib.util
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag.core.errors import ConfigError, closest
from rag.core.files import shipped

if TYPE_CHECKING:
    from rag.config.yaml_files import YamlFile

PLUGINS = "rag.plugins"
"""The entry point group of plug-ins, and the package that holds ours."""
NONE, PRESET = "none", "preset"
"""The group of whole systems; a config has no key of this name."""
LISTS = ("index", "metric", "enrich", "selector", "check", "guard")
"""Groups of which several choices may be made at once; the others take one."""


ROOMS: Mapping[str, str] = {
    "loader": "loaders", "parser": "parsers", "redactor": "redactors", "ingest": "ingest", "noise": "noise",
    "dataset": "loaders", "system": "systems", "enrich": "enrichers", "roster": "rosters", "chunker": "chunkers",
    "passage": "passages",
    "embedder": "embedders", "index": "indexes", "analyser": "analysers", "fusion": "fusion", "reranker": "rerankers",
    "selector": "selectors", "route": "routers", "policy": "policies", "queries": "queries", "memory": "memories",
    "shape": "shapers", "condense": "condensers",
    "reuse": "reuse", "guard": "guards", "prompt": "prompts", "generator": "generators", "check": "checks",
    "metric": "metrics", "judge": "judges",
}  # fmt: skip
"""Role → the folder of `rag.components`, or of a plug-in of ours, with its components. Configs can name these classes."""


@lru_cache(maxsize=1)
def plugins() -> tuple[str, ...]:
    """Top-level packages that declare the entry point group `rag.plugins`; installing one is trusting it."""
    return tuple(sorted({point.value.split(":")[0].split(".")[0] for point in importlib.metadata.entry_points(group=PLUGINS)}))


def search_folders() -> list[Path]:
    """The folders of choices, in the order of their precedence."""
    own, ours = Path.cwd() / "conf", installed_folders(plugins())
    return [*([own] if own.is_dir() and own not in ours else []), *ours]


@lru_cache(maxsize=4)
def installed_folders(packages: tuple[str, ...] = ()) -> list[Path]:
    """`conf/` as it is shipped, then those of plug-ins."""
    return [shipped("conf"), *dict.fromkeys(path for path, _ in _in_plugins("conf", packages))]


def plugin_modules(name: str) -> list[str]:
    """The modules of a name in plug-ins: importing `verbs` adds the verbs of a plug-in to the command line."""
    return [f"{package}.{name}" for _, package in _in_plugins(f"{name}.py", plugins())]


def _in_plugins(file: str, packages: tuple[str, ...]) -> Iterator[tuple[Path, str]]:
    """The files or folders of a name in plug-ins, each with its package.

    A plug-in is a package that an entry point names, or a package in it; ours are those in `rag.plugins`.
    """
    for package in (PLUGINS, *packages):
        spec = importlib.util.find_spec(package)
        for place in map(Path, (spec and spec.submodule_search_locations) or ()):
            if (place / file).exists():
                yield place / file, package
            yield from ((path, f"{package}.{path.parent.name}") for path in sorted(place.glob(f"*/{file}")))


def choices(group: str) -> list[str]:
    """The names that a config group offers."""
    return sorted({path.stem for folder in search_folders() for path in (folder / group).glob("*.yaml")})


def choice(group: str, name: str) -> dict[str, Any]:
    """The content of the file of a choice, interpolations not resolved; empty where there is none."""
    path = first(f"{group}/{name}")
    return dict(_read(path).mapping) if path else {}


def _read(path: Path) -> "YamlFile":
    from rag.config.yaml_files import read  # help needs the names of plug-ins, and no YAML

    return read(path)


def first(name: str) -> Path | None:
    """The file in `conf/` with a name such as `chunker/fixed`; None where there is none."""
    return next((path for folder in search_folders() if (path := folder / f"{name}.yaml").is_file()), None)


def texts(name: str, needed: Iterable[str]) -> Mapping[str, Any]:
    """The content of a file of texts in `conf/`, such as `generate`; ConfigError where one is missing."""
    path = first(name)
    content = _read(path).value if path else None
    known = content if isinstance(content, dict) else {}
    if missing := [key for key in needed if key not in known]:
        where = str(path or f"conf/{name}.yaml")
        raise ConfigError(where, f"lacks {', '.join(missing)}", "write them as in the file that comes with Assay")
    return known


def defaults() -> dict[str, Any]:
    """The default choice, or list of choices, of each group, in the order of the wiring."""
    path = first("config") or shipped("conf") / "config.yaml"
    parts = _read(path).mapping["defaults"]
    return {group: choice for part in parts if isinstance(part, dict) for group, choice in part.items()}


def groups() -> list[str]:
    """The config groups: those of the wiring in its order, then all others."""
    known = {path.parent.name for folder in search_folders() for path in folder.glob("*/*.yaml")}
    return [*(group for group in defaults() if group in known), *sorted(known - defaults().keys())]


def experiments() -> dict[str, Path]:
    """The files of declared experiments by name: those of `experiments/` here first, then those of the installation."""
    folders = (Path.cwd() / "experiments", shipped("experiments"))
    paths = {path.stem: path for folder in reversed(folders) for path in folder.glob("*.yaml")}
    return dict(sorted(paths.items()))


def locate(name: str) -> Path:
    """The file of an experiment: a path, or a name in `experiments/` here, or one that came with the installation."""
    known = experiments()
    for path in (Path(name), known.get(name, Path(name))):
        if path.is_file():
            return path
    raise ConfigError("experiment", f"there is none called {name!r}", closest(name, known))
