"""Parameters of components that name a choice of a config group, as an override can write it: `loader.parsers.pdf=pdfium`."""

import json
from collections.abc import Mapping
from typing import Any

from omegaconf import DictConfig, OmegaConf
from yaml import MarkedYAMLError, YAMLError

from rag.config.catalog import choice, choices, first
from rag.config.limits import check_mapping, check_size
from rag.core.errors import ConfigError, closest

NESTED: Mapping[str, str] = {
    **{"parsers": "parser", "redactor": "redactor", "ingest": "ingest", "noise": "noise"},
    **{"analyser": "analyser", "judge": "judge"},
}
"""Parameter → config group: `pdf: pdfium` in `parsers` stands for the content of conf/parser/pdfium.yaml."""


LANGUAGE = "language"
"""The key of the wiring that a nested choice can name, as `${language}`."""


def names_choices(node: Any) -> bool:
    """Whether a component, or one of several by name, has parameters that can name choices."""
    if not isinstance(node, Mapping):
        return False
    return not NESTED.keys().isdisjoint(node) if "_target_" in node else any(map(names_choices, node.values()))


def open_choice(config: DictConfig, key: str) -> None:
    """Put the content of a choice in place of its name where `key` is a parameter in it: `loader.parsers.html.article`."""
    parts = key.split(".")
    for end in range(2, len(parts)):
        group, place = NESTED.get(parts[end - 1]) or NESTED.get(parts[end - 2], ""), ".".join(parts[:end])
        name = OmegaConf.select(config, place) if group else None
        if isinstance(name, str) and (content := _read(group, name)):
            OmegaConf.update(config, place, content)


def with_choices(node: Any, where: str = "loader", language: Any = None) -> Any:
    """A component, or several by name, with the content of the choices that their parameters name.

    `language` is the value of `${language}` in a choice. ConfigError, below the key `where`, for a name that does not exist.
    """
    if not names_choices(node):
        return node
    if "_target_" not in node:
        return {key: with_choices(value, f"{where}.{key}", language) for key, value in node.items()}
    return {
        key: _content(NESTED[key], value, f"{where}.{key}", language) if key in NESTED else value for key, value in node.items()
    }


def _content(group: str, value: Any, where: str, language: Any) -> Any:
    if isinstance(value, Mapping) and "_target_" not in value:
        return {name: _content(group, part, f"{where}.{name}", language) for name, part in value.items()}
    if not isinstance(value, str):
        return value
    content = _read(group, value)
    if not content:
        raise ConfigError(where, f"there is no choice {value!r}", closest(value, choices(group)))
    return json.loads(json.dumps(content).replace(f'"${{{LANGUAGE}}}"', json.dumps(language)))


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
    group = next((NESTED[part] for part in where.split(".")[1:] if part in NESTED), "")
    paths = (first(f"{group}/{name}") for name in (choices(group) if group else ()) if _read(group, name) == node)
    path = next(paths, None)
    return ConfigError(f"{path}: {error.where}", error.what, error.remedy) if path else error
