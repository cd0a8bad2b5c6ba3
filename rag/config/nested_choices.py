"""Parameters of components that name a choice of a config group, as an override can write it: `loader.parsers.pdf=pdfium`."""

from collections.abc import Mapping
from typing import Any

from rag.config.catalog import choices, first
from rag.config.yaml_files import check_interpolations, read
from rag.core.errors import ConfigError, closest

NESTED: Mapping[str, str] = {
    **{"parsers": "parser", "redactor": "redactor", "ingest": "ingest", "noise": "noise"},
    **{"analyser": "analyser", "judge": "judge"},
}
"""Parameter → config group: `pdf: pdfium` in `parsers` stands for the content of conf/parser/pdfium.yaml."""


def content_of(group: str, name: str, where: str) -> Mapping[str, Any]:
    """The content of a choice, interpolations not resolved; ConfigError, at the key `where`, for a name that does not exist."""
    path = first(f"{group}/{name}")
    if path is None:
        raise ConfigError(where, f"there is no choice {name!r}", closest(name, choices(group)))
    file = read(path)
    check_interpolations(file)
    return file.mapping


def group_at(keys: tuple[str, ...]) -> str:
    """The group whose choices the value at some keys can name; empty for none."""
    return NESTED.get(keys[-1]) or NESTED.get(keys[-2], "") if len(keys) > 1 else ""


def named_by_file(error: ConfigError, node: Any, where: str) -> ConfigError:
    """An error of a component with the file of the choice that describes it, if a parameter named the choice."""
    group = next((NESTED[part] for part in where.split(".")[1:] if part in NESTED), "")
    paths = (first(f"{group}/{name}") for name in (choices(group) if group else ()))
    path = next((path for path in paths if path and read(path).value == node), None)
    return ConfigError(f"{path}: {error.where}", error.what, error.remedy) if path else error
