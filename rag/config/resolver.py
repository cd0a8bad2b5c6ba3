"""A config with interpolations → plain values, each computed once for all configs that share what it reads."""

import os
from collections.abc import Mapping
from pathlib import Path as File
from typing import Any

from rag.config.interpolation import Call, Path, Template, is_open, parsed, path
from rag.config.limits import check_references
from rag.config.nested_choices import NESTED, content_of
from rag.core.errors import ConfigError, UserError
from rag.core.files import shipped

MISSING = "???"
"""A value that must be given."""
ABSENT: Any = object()
Place = tuple[str, ...]
"""The keys from the root of a config to a value."""


class Resolver:
    """Resolves top-level keys of configs; thousands of trials share most values, and what one reads decides its result."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, int], list[tuple[dict[str, Any], Any]]] = {}

    def __call__(self, key: str, config: Mapping[str, Any]) -> Any:
        """The value of a top-level key; ConfigError where a part is missing or cannot be resolved."""
        known = self._known.setdefault((key, id(config[key])), [])
        fitting = (kept for read, kept in known if all(config.get(name, ABSENT) is value for name, value in read.items()))
        if (result := next(fitting, ABSENT)) is ABSENT:
            reading = Reading(config)
            try:
                result = reading.at((key,))
            except UserError as error:
                result = error
            known.append((reading.read, result))
        if isinstance(result, UserError):
            raise result
        return result


class Reading:
    """One reading of a config. `read` has the top-level values that it came by, ABSENT for those that there are not."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self.config, self.read = config, dict[str, Any]()
        self._open: list[Place] = []

    def at(self, place: Place) -> Any:
        """The resolved value at a place."""
        node, place = self._found(place)
        return self._value(node, place, outside=len(place) == 1)

    def _value(self, node: Any, place: Place, outside: bool = False) -> Any:
        """The value of a node. `outside` of components, mappings hold components by name, whose parameters may name choices."""
        if isinstance(node, str):
            if node == MISSING:
                raise ConfigError(".".join(place), "has no value yet", f"give it: {'.'.join(place)}=<value>")
            return self._text(node, place) if is_open(node) else node
        if isinstance(node, list):
            items = [self._value(part, (*place, str(number))) for number, part in enumerate(node)]
            return node if all(one is other for one, other in zip(items, node, strict=True)) else items
        if not isinstance(node, Mapping):
            return node
        component = "_target_" in node
        values = {key: self._value(part, (*place, str(key)), outside and not component) for key, part in node.items()}
        for key in NESTED.keys() & values if component and outside else ():
            values[key] = self._choices(NESTED[key], values[key], (*place, key))
        return node if all(values[key] is part for key, part in node.items()) else values

    def _choices(self, group: str, value: Any, place: Place) -> Any:
        """A parameter with the content of the choices that it names, by format or alone."""
        if isinstance(value, Mapping) and "_target_" not in value:
            return {name: self._choices(group, part, (*place, str(name))) for name, part in value.items()}
        return self._value(content_of(group, value, ".".join(place)), place) if isinstance(value, str) else value

    def _text(self, text: str, place: Place) -> Any:
        """The value of a text with interpolations: that of the only part, or all of them as one text."""
        check_references(".".join(place), text)
        if place in self._open:
            raise ConfigError(".".join(place), f"is {text!r}, which refers to itself", "write the value itself")
        self._open.append(place)
        try:
            return self._filled(parsed(text), place)
        finally:
            self._open.pop()

    def _filled(self, template: Template, place: Place) -> Any:
        values = [part if isinstance(part, str) else self._part(part, place) for part in template]
        return values[0] if len(values) == 1 else "".join(map(str, values))

    def _part(self, part: Path | Call, place: Place) -> Any:
        if isinstance(part, Path):
            node, found = self._found(_absolute(part, place))
            if node is ABSENT:
                raise _absent(part, place)
            return self._value(node, found, outside=len(found) == 1)
        first, *rest = [self._filled(each, place) if isinstance(each, tuple) else each for each in part.arguments]
        if part.name == "oc.env":
            return self._variable(str(first), rest, place)
        if part.name == "oc.select":
            node, found = self._found(_absolute(path(str(first)), place))
            return (rest[0] if rest else None) if node is ABSENT or node == MISSING else self._value(node, found)
        return config_folder(str(first))

    def _variable(self, name: str, default: list[Any], place: Place) -> str | None:
        if name in os.environ:
            return os.environ[name]
        if not default:
            key = ".".join(place)
            remedy = f"export {name}=<value>, or {key}=<value>"
            raise ConfigError(key, f"needs the environment variable {name}", remedy)
        return None if default[0] is None else str(default[0])

    def _found(self, sought: Place) -> tuple[Any, Place]:
        """The node at a place, and the place that it has itself, behind interpolations on the way; ABSENT for none."""
        node, place = self.config, Place()
        for key in sought:
            node, place = self._target(node, place) if is_open(node) else (node, place)
            if isinstance(node, list):
                inner = node[int(key)] if key.isdecimal() and int(key) < len(node) else ABSENT
            else:
                inner = node.get(key, ABSENT) if isinstance(node, Mapping) else ABSENT
            if not place:
                self.read[key] = inner
            node, place = inner, (*place, key)
        return node, place

    def _target(self, text: Any, place: Place) -> tuple[Any, Place]:
        """What a text that is one reference refers to."""
        template = parsed(text)
        if len(template) != 1 or not isinstance(template[0], Path) or place in self._open:
            return self._text(text, place), place
        self._open.append(place)
        try:
            return self._found(_absolute(template[0], place))
        finally:
            self._open.pop()


def _absolute(path: Path, place: Place) -> Place:
    return (*place[: max(0, len(place) - path.up)], *path.keys) if path.up else path.keys


def _absent(path: Path, place: Place) -> ConfigError:
    key, name = ".".join(place), ".".join(path.keys)
    if path.keys == ("data",):
        return no_data(key)
    return ConfigError(key, f"refers to {name}, and the config has no such key", f"fix the ${{…}} in it, or give {key}=<value>")


def no_data(where: str) -> ConfigError:
    """The error for a public data set where RAG_DATA is not set."""
    listed = f"{shipped('datasets') / 'README.md'} lists them, with their sources"
    return ConfigError(where, "needs a public data set", f"export RAG_DATA=<the folder with the data sets>; {listed}")


def config_folder(folder: str) -> str:
    """A folder here, else the shipped one, else the name as it is, for the error of what reads it."""
    return folder if File(folder).is_dir() or not shipped(folder).is_dir() else str(shipped(folder))
