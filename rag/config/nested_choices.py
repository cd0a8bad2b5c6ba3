"""Parameters of components that name a choice of a config group, as an override can write it: `loader.parsers.pdf=pdfium`."""

from collections.abc import Mapping
from typing import Any

from rag.config.catalog import choice, choices
from rag.core.errors import ConfigError, closest

NESTED: Mapping[str, str] = {"parsers": "parser", "redactor": "redactor", "ingest": "ingest", "noise": "noise"}
"""Parameter → config group: `pdf: pdfium` in `parsers` stands for the content of conf/parser/pdfium.yaml."""


def with_choices(node: Any) -> Any:
    """A component with the content of the choices that its parameters name; ConfigError for a name that does not exist."""
    if not isinstance(node, Mapping) or "_target_" not in node:
        return node
    return {key: _content(NESTED[key], value, key) if key in NESTED else value for key, value in node.items()}


def _content(group: str, value: Any, where: str) -> Any:
    if isinstance(value, Mapping) and "_target_" not in value:
        return {name: _content(group, part, f"{where}.{name}") for name, part in value.items()}
    if isinstance(value, str) and not (content := choice(group, value)):
        raise ConfigError(f"loader.{where}", f"there is no choice {value!r}", closest(value, choices(group)))
    return content if isinstance(value, str) else value
