"""Parameters of components that name a choice of a config group, as an override can write it: `loader.parsers.pdf=pdfium`."""

import json
from collections.abc import Mapping
from typing import Any

from yaml import MarkedYAMLError, YAMLError

from rag.config.catalog import choice, choices, first
from rag.config.limits import check_mapping, check_size
from rag.core.errors import ConfigError, closest

NESTED: Mapping[str, str] = {"parsers": "parser", "redactor": "redactor", "ingest": "ingest", "noise": "noise"}
"""Parameter → config group: `pdf: pdfium` in `parsers` stands for the content of conf/parser/pdfium.yaml."""


def names_choices(node: Any) -> bool:
    """Whether a node is a component with parameters that can name choices."""
    return isinstance(node, Mapping) and "_target_" in node and not NESTED.keys().isdisjoint(node)


def with_choices(node: Any) -> Any:
    """A component with the content of the choices that its parameters name; ConfigError for a name that does not exist."""
    if not names_choices(node):
        return node
    return {key: _content(NESTED[key], value, key) if key in NESTED else value for key, value in node.items()}


def _content(group: str, value: Any, where: str) -> Any:
    if isinstance(value, Mapping) and "_target_" not in value:
        return {name: _content(group, part, f"{where}.{name}") for name, part in value.items()}
    if not isinstance(value, str):
        return value
    content = _read(group, value)
    if not content:
        raise ConfigError(f"loader.{where}", f"there is no choice {value!r}", closest(value, choices(group)))
    return content


def _read(group: str, name: str) -> Any:
    """The content of a choice, dates as text; ConfigError for a file that is not a mapping in YAML."""
    path = first(f"{group}/{name}")
    if path is None:
        return {}
    check_size(path)
    check_mapping(path)
    try:
        return json.loads(json.dumps(choice(group, name), default=str))
    except (YAMLError, UnicodeDecodeError) as error:
        line = f":{error.problem_mark.line + 1}" if isinstance(error, MarkedYAMLError) and error.problem_mark else ""
        raise ConfigError(f"{path}{line}", f"is not valid YAML ({getattr(error, 'problem', error)})", "fix it there") from error


def named_by_file(error: ConfigError, node: Any, where: str) -> ConfigError:
    """An error of a component with the file of the choice that describes it, if a parameter named the choice."""
    group = next((NESTED[part] for part in where.split(".") if part in NESTED), "")
    paths = (first(f"{group}/{name}") for name in (choices(group) if group else ()) if _read(group, name) == node)
    path = next(paths, None)
    return ConfigError(f"{path}: {error.where}", error.what, error.remedy) if path else error
