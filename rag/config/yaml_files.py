"""YAML files → plain values: one reader of choices, wirings, experiments and texts. Its errors name the file and the line.

The values are those of YAML 1.2 for numbers, as Hydra reads them: `1e3` is a number, a date is text, no key stands twice.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml
from yaml import YAMLError

from rag.config.interpolation import check_text
from rag.config.limits import check_references
from rag.core.errors import ConfigError

MOST = 1_000_000
"""The most values of a file, keys included. Nine aliases of nine, eleven deep, are 31 billion."""
DEEPEST = 200
"""The most levels of a file: the parser is recursive."""
FLOAT = "tag:yaml.org,2002:float"
NUMBER = re.compile(
    r"[-+]?(\d[\d_]*(\.[\d_]*([eE][-+]?\d+)?|[eE][-+]?\d+)|\.\d[\d_]*([eE][-+]\d+)?|\.(inf|Inf|INF))$|\.(nan|NaN|NAN)$",
    re.ASCII,
)


class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Plain values only; a key that stands twice is an error."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """The mapping of a node; ConstructorError for a key that stands twice."""
        keys = set()
        for key, _ in node.value:
            if key.tag == "tag:yaml.org,2002:str" and key.value in keys:
                raise yaml.constructor.ConstructorError(None, None, f"found duplicate key {key.value}", key.start_mark)
            keys.add(key.value if isinstance(key, yaml.ScalarNode) else None)
        return dict(super().construct_mapping(node, deep))


def _resolvers() -> dict[str, list[tuple[str, re.Pattern[str]]]]:
    """What plain scalars are: those of YAML 1.1 but for dates, which are text, and numbers such as 1e3."""
    known = yaml.SafeLoader.yaml_implicit_resolvers
    found = {
        first: [(tag, form) for tag, form in forms if tag not in (FLOAT, "tag:yaml.org,2002:timestamp")]
        for first, forms in known.items()
    }
    for first in "-+0123456789.":
        found[first] = [*found.get(first, []), (FLOAT, NUMBER)]
    return found


Loader.yaml_implicit_resolvers = _resolvers()


@dataclass(frozen=True, eq=False)
class YamlFile:
    """A file as it was read; callers share its value. `root` has the places of its values; None for an empty file."""

    path: Path
    text: str
    root: yaml.Node | None
    value: Any

    @property
    def mapping(self) -> Mapping[str, Any]:
        """The value; ConfigError for one that is text, a list or empty."""
        if isinstance(self.value, dict):
            return self.value
        held = "a list" if isinstance(self.value, list) else "nothing" if self.value is None else f"{self.value!r}"
        line = self.root.start_mark.line + 1 if self.root else 1
        raise ConfigError(
            f"{self.path}:{line}",
            f"holds {held}, not a mapping",
            "write `key: value` lines, as the files of conf/ and experiments/ do",
        )


def read(path: Path) -> YamlFile:
    """Read a file. ConfigError for one that cannot be read, is not YAML, or holds more than MOST values."""
    try:
        state = path.stat()
        return _read(path, state.st_mtime_ns, state.st_size)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(str(path), f"cannot be read ({' '.join(str(error).split())})", "write it as text in UTF-8") from error


@lru_cache(maxsize=1024)
def _read(path: Path, changed: int, size: int) -> YamlFile:
    text = path.read_text("utf-8")
    try:
        _check_depth(path, text)
        loader = Loader(text)
        root = loader.get_single_node()
        if root and _size(root, {}) > MOST:
            raise ConfigError(str(path), f"holds more than {MOST:,} values, aliases counted", "leave some out")
        return YamlFile(path, text, root, loader.construct_document(root) if root else None)
    except (YAMLError, ValueError) as error:
        raise _invalid(path, text, error) from error
    except RecursionError as error:
        raise _endless(path) from error


def _invalid(path: Path, text: str, error: Exception) -> ConfigError:
    """The error for text that is not YAML; libyaml counts a line too many where the text ends early."""
    try:
        yaml.compose(text, yaml.SafeLoader)
    except YAMLError as exact:
        error = exact
    mark = getattr(error, "problem_mark", None)
    where = f"{path}:{mark.line + 1}" if mark else str(path)
    what = getattr(error, "problem", None) or " ".join(str(error).split())
    return ConfigError(where, f"is not valid YAML ({what})", "fix it there")


def _endless(path: Path) -> ConfigError:
    return ConfigError(str(path), "holds something that refers to itself, or is nested too deeply", "write it out")


def _check_depth(path: Path, text: str) -> None:
    """Raise ConfigError for a text that a recursive parser should not get."""
    depth = 0
    for event in yaml.parse(text, Loader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST:
            raise _endless(path)


def _size(node: yaml.Node, known: dict[int, int]) -> int:
    """The number of values in a node; a node with aliases is counted once and added for each alias."""
    if id(node) not in known:
        known[id(node)] = min(MOST + 1, 1 + sum(_size(part, known) for part in _parts(node)))
    return known[id(node)]


def _parts(node: yaml.Node) -> Iterator[yaml.Node]:
    for each in node.value if isinstance(node, yaml.CollectionNode) else ():
        yield from each if isinstance(each, tuple) else (each,)


def check_interpolations(file: YamlFile) -> None:
    """Raise ConfigError, naming the line, for a `${…}` of a config that cannot be read or reads what it must not."""
    waiting, seen = [file.root] if file.root and "${" in file.text else [], set[int]()
    while waiting:
        node = waiting.pop()
        if isinstance(node, yaml.ScalarNode):
            where = f"{file.path}:{node.start_mark.line + 1}"
            check_text(where, node.value)
            check_references(where, node.value)
        elif id(node) not in seen:
            seen.add(id(node))
            waiting += _parts(node)
