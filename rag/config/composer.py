"""Overrides → configs of plain values, interpolations still open: the merged files of `conf/`, then single values.

Equal parts of configs are the same object, so that thousands of trials share them; no config changes another.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag.config.catalog import search_folders
from rag.config.defaults_list import Expansion, load
from rag.config.interpolation import is_open
from rag.config.nested_choices import content_of, group_at
from rag.config.resolver import MISSING
from rag.core.errors import ConfigError, UserError, closest
from rag.core.files import shipped

if TYPE_CHECKING:
    from hydra.core.override_parser.types import Override

log = logging.getLogger(__name__)
Config = Mapping[str, Any]
"""A config by top-level key, interpolations still open."""
ABSENT: Any = object()


class Composer:
    """Composes configs and keeps their parts; it looks at each file and folder once."""

    def __init__(self) -> None:
        self._groups: dict[str, bool] = {}
        self._load = lru_cache(maxsize=None)(load)
        self._chosen: dict[tuple[str, ...], Config | UserError] = {}
        self._merged: dict[tuple[Any, ...], tuple[Any, Any]] = {}
        self._set: dict[tuple[int, str], tuple[Any, Any]] = {}
        _log_replaced()

    def is_group(self, name: str) -> bool:
        """Whether there is a config group of this name."""
        if name not in self._groups:
            self._groups[name] = any((folder / name).is_dir() for folder in search_folders())
        return self._groups[name]

    def chooses(self, override: "Override") -> bool:
        """Whether an override names choices of a group."""
        return self.is_group(override.key_or_group) and not isinstance(override.value(), dict)

    def config(self, overrides: "Sequence[Override]") -> Config:
        """The config under overrides; ConfigError for a choice or a key that does not exist."""
        choices = [override for override in overrides if self.chooses(override)]
        key = tuple(str(override.input_line) for override in choices)
        if key not in self._chosen:
            try:
                self._chosen[key] = self._merge(choices)
            except UserError as error:
                self._chosen[key] = error
        found = self._chosen[key]
        if isinstance(found, UserError):
            raise found
        return self.with_values(found, [override for override in overrides if not self.chooses(override)])

    def _merge(self, choices: "Sequence[Override]") -> Config:
        """The contents of all files below their packages."""
        parts: dict[str, list[tuple[Any, tuple[str, ...]]]] = {}
        for content, package in Expansion.of(choices, self._load).parts():
            top, *inner = package.split(".") if package else [""]
            for key, value in {top: content}.items() if top else content.items():
                parts.setdefault(str(key), []).append((value, tuple(inner)))
        return {key: self._shared(key, found) for key, found in parts.items()}

    def _shared(self, key: str, parts: Sequence[tuple[Any, tuple[str, ...]]]) -> Any:
        """The merged value of a top-level key: the same object for the same parts."""
        known = (key, *((id(value), inner) for value, inner in parts))
        if known not in self._merged:
            merged = ABSENT
            for value, inner in parts:
                for name in reversed(inner):
                    value = {name: value}
                merged = merge(merged, value)
            self._merged[known] = merged, parts
        return self._merged[known][0]

    def with_values(self, config: Config, overrides: "Sequence[Override]") -> Config:
        """The config with single values set, added (`+`, `++`) or removed (`~`); ConfigError for a key that does not exist."""
        for override in overrides:
            top = str(override.key_or_group).partition(".")[0]
            value = self._changed(config.get(top, ABSENT), override, config)
            config = {key: part for key, part in {**config, top: value}.items() if part is not ABSENT}
        return config

    def _changed(self, value: Any, override: "Override", config: Config) -> Any:
        known = id(value), str(override.input_line)
        if known not in self._set:
            try:
                result = changed(value, override, config)
            except UserError as error:
                result = error
            self._set[known] = result, value
        result = self._set[known][0]
        if isinstance(result, UserError):
            raise result
        return result


def merge(base: Any, value: Any) -> Any:
    """A value merged over another one, key by key; neither is changed."""
    if base is not ABSENT and value == MISSING:
        return base
    if not isinstance(base, Mapping) or not isinstance(value, Mapping):
        return value
    return {**base, **{key: merge(base.get(key, ABSENT), part) for key, part in value.items()}}


def changed(value: Any, override: "Override", config: Config) -> Any:
    """The value of a top-level key after an override; ABSENT where the override removes it."""
    if override.package is not None:
        raise _misspelt(override, str(override.get_key_element()).lstrip("+~"), "the wiring", config)
    return _put(value, tuple(override.key_or_group.split(".")), 1, override, config)


def _put(node: Any, keys: tuple[str, ...], depth: int, override: "Override", siblings: Any) -> Any:
    """The node at the first `depth` keys after an override; `siblings` is what holds it."""
    adds = override.is_add() or override.is_force_add()
    if node is ABSENT and not adds:
        raise _misspelt(override, keys[depth - 1], ".".join(keys[: depth - 1]) or "the wiring", siblings)
    if depth == len(keys):
        return _replaced(node, override)
    if isinstance(node, str) and (group := group_at(keys[:depth])) and not is_open(node):
        node = content_of(group, node, ".".join(keys[:depth]))
    if isinstance(node, list) and keys[depth].isdecimal() and int(keys[depth]) < len(node):
        number = int(keys[depth])
        return [*node[:number], _put(node[number], keys, depth + 1, override, {}), *node[number + 1 :]]
    if not isinstance(node, Mapping):
        if not adds or isinstance(node, list):
            what = f"{'.'.join(keys[:depth])} is {node!r} and holds no keys"
            raise ConfigError(override.key_or_group, what, "leave out the rest of the key")
        node = {}
    inner = _put(node.get(keys[depth], ABSENT), keys, depth + 1, override, node)
    return {key: part for key, part in {**node, keys[depth]: inner}.items() if part is not ABSENT}


def _replaced(node: Any, override: "Override") -> Any:
    key, value = override.key_or_group, override.value()
    if override.is_delete():
        if value is not None and value != node:
            raise ConfigError(key, f"is {node!r}, not {value!r}", f"~{key} removes it")
        return ABSENT
    whole = isinstance(value, dict | list)
    if override.is_add() and node not in (ABSENT, None) and not whole:
        raise ConfigError(key, f"has a value already: {node!r}", f"write {key}=<value>; ++ in front sets it, there or not")
    if isinstance(value, dict) and not (override.is_add() or override.is_force_add()):
        _check_known(value, node, override)
    return merge(node, value) if isinstance(value, dict) else value


def _check_known(value: Mapping[str, Any], node: Any, override: "Override") -> None:
    """Raise ConfigError for a key of a mapping that the mapping in the config does not have."""
    for key, part in value.items() if isinstance(node, Mapping) else ():
        if key not in node:
            raise _misspelt(override, str(key), override.key_or_group, node)
        if isinstance(part, Mapping):
            _check_known(part, node[key], override)


def _misspelt(override: "Override", part: str, where: str, node: Any) -> ConfigError:
    known = [str(name) for name in node if not str(name).startswith("_")] if isinstance(node, Mapping) else []
    key = str(override.get_key_element()).lstrip("+~")
    return ConfigError(key, f"there is no {part!r} in {where}", f"{closest(part, known)}; a new key takes a +")


def _log_replaced() -> None:
    """Log the files in the working folder's `conf/` that replace another content of ours; the command line shows each once."""
    own, *ours = search_folders()
    for path in sorted(own.rglob("*.yaml")) if own != shipped("conf") else ():
        name = path.relative_to(own)
        replaced = next((found for folder in ours if (found := folder / name).is_file()), path)
        if replaced.read_bytes() != path.read_bytes():
            log.info("%s replaces the file of the same name that Assay ships.", Path("conf") / name)


CURRENT: ContextVar[Composer | None] = ContextVar("composer", default=None)


@contextmanager
def composing() -> Iterator[Composer]:
    """A block whose configs share one composer, that of the block around it if there is one; it sees no change of a file."""
    token = CURRENT.set(made := CURRENT.get() or Composer())
    try:
        yield made
    finally:
        CURRENT.reset(token)
