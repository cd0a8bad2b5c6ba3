"""Overrides of single values, set without Hydra.

Hydra first merges the choices of groups, then applies the other overrides in their order. So Hydra composes a config once, up
to the last override that does more than to set a value, and each later `key=value` is set in the plain config. Where the result
could differ from Hydra's, Hydra composes the whole.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hydra.core.override_parser.types import OverrideType
from omegaconf import AnyNode, DictConfig, ListConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from rag.config.compose import is_group, parsed
from rag.core.errors import ConfigError, UserError, closest

Raw = Mapping[str, Any]
"""A config by top-level key, interpolations still open."""
Compose = Callable[[Sequence[str]], DictConfig]


@dataclass(frozen=True)
class Part:
    """An override as Hydra reads it: the choice of a group, a value for one key, or neither."""

    override: str
    of_group: bool = False
    path: tuple[str, ...] = ()
    value: Any = None


@dataclass(frozen=True)
class Composed:
    """A config that Hydra composed; `settable` where its values have no types and no flags of their own."""

    config: Raw
    settable: bool


class Composer:
    """Configs of fixed and other overrides, as `compose` gives them. Use it within `hydra_ready`."""

    def __init__(self, fixed: Sequence[str], compose: Compose) -> None:
        self.fixed, self.compose = tuple(fixed), compose
        self._parts: dict[str, Part] = {}
        self._values: dict[str, Any] = {}
        self._composed: dict[tuple[str, ...], Composed | UserError] = {}
        self._failed: dict[tuple[tuple[str, ...], ...], UserError] = {}

    def __call__(self, overrides: Sequence[str]) -> Raw:
        """The config; equal values are the same object, by top-level key. UserError as `compose`.

        Combinations with the same mistake raise the error of the first.
        """
        parts = [self._part(override) for override in overrides]
        cut = max((number for number, part in enumerate(parts, 1) if not part.of_group and not part.path), default=0)
        head = tuple(part.override for number, part in enumerate(parts) if number < cut or part.of_group)
        tail = [part for part in parts[cut:] if part.path]
        base = self._by_hydra(head)
        if isinstance(base, UserError):
            return self._whole(overrides, (head,))
        config, unsure = dict(base.config), [] if base.settable else tail
        for part in tail if base.settable else ():
            changed = _changed(config, part)
            if changed is None:
                unsure.append(part)
            else:
                config = changed | {part.path[0]: self._shared(changed[part.path[0]])}
        return self._whole(overrides, (head, *(part.path for part in unsure))) if unsure else config

    def _whole(self, overrides: Sequence[str], cause: tuple[tuple[str, ...], ...]) -> Raw:
        """The config that Hydra composes of all overrides; an error is computed once for each `cause`."""
        if cause in self._failed:
            raise self._failed[cause]
        composed = self._by_hydra(tuple(overrides))
        if isinstance(composed, UserError):
            self._failed[cause] = composed
            raise composed
        return composed.config

    def _by_hydra(self, overrides: tuple[str, ...]) -> Composed | UserError:
        if overrides not in self._composed:
            try:
                config = self.compose([*self.fixed, *overrides])
                plain = {key: self._shared(value) for key, value in unresolved(config).items()}
                self._composed[overrides] = Composed(plain, _untyped(config))
            except UserError as error:
                self._composed[overrides] = error
        return self._composed[overrides]

    def _shared(self, value: Any) -> Any:
        """The same object for values that are the same, in the same order: indexes are fused in theirs."""
        return self._values.setdefault(json.dumps(value, default=str), value)

    def _part(self, override: str) -> Part:
        if override not in self._parts:
            self._parts[override] = _read(override)
        return self._parts[override]


def _read(override: str) -> Part:
    try:
        (single,) = parsed([override])
        if single.is_sweep_override() or isinstance(value := single.value(), Mapping):
            return Part(override)
        if is_group(single.key_or_group):
            return Part(override, of_group=True)
        sets = single.type is OverrideType.CHANGE and single.package is None
        if not sets or not re.fullmatch(r"[\w-]+(\.[\w-]+)*", single.key_or_group):
            return Part(override)
        plain = OmegaConf.to_container(OmegaConf.create({"value": value}), resolve=False)
        return Part(override, path=tuple(single.key_or_group.split(".")), value=dict(plain)["value"])  # type: ignore[arg-type]
    except (UserError, OmegaConfBaseException):
        return Part(override)


def _changed(config: Mapping[str, Any], part: Part) -> dict[str, Any] | None:
    """The config with one value replaced, all else shared; None where the key has no single value."""
    places = [config]
    for key in part.path[:-1]:
        inner = places[-1].get(key)
        if not isinstance(inner, Mapping):
            return None
        places.append(inner)
    last = part.path[-1]
    if last not in places[-1] or isinstance(places[-1][last], Mapping):
        return None
    value = part.value
    for place, key in zip(reversed(places), reversed(part.path), strict=True):
        value = {**place, key: value}
    return dict(value)


def _untyped(node: Any) -> bool:
    """Whether a config has the types of YAML only: no declared type, nothing that is read-only."""
    if not isinstance(node, DictConfig | ListConfig):
        return type(node) is AnyNode
    meta = node._metadata
    if meta.object_type not in (dict, list) or meta.element_type is not Any or (meta.flags and meta.flags.get("readonly")):
        return False
    if isinstance(node, ListConfig):
        return all(_untyped(node._get_node(place)) for place in range(len(node)))
    return all(_untyped(node._get_node(key)) for key in node)


def with_value(config: Raw, override: str) -> dict[str, Any]:
    """The config with the value of `key=value` replaced; ConfigError where the key has no single value."""
    part = _read(override)
    changed = _changed(config, part) if part.path else None
    if changed is None:
        *path, last = override.partition("=")[0].split(".")
        for key in path:
            config = inner if isinstance(inner := config.get(key), Mapping) else {}
        known = [key for key, value in config.items() if key[0] != "_" and not isinstance(value, Mapping)]
        raise ConfigError(override, "does not name a single value of the config", closest(last, known))
    return changed


def unresolved(config: DictConfig) -> dict[str, Any]:
    """A config as plain values, interpolations not resolved."""
    plain = OmegaConf.to_container(config, resolve=False)
    return {str(key): value for key, value in dict(plain).items()} if isinstance(plain, dict) else {}
