"""Checks of parameters in a config against the signature of their constructor."""

import inspect
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from rag.core.errors import ConfigError, closest
from rag.core.roles import has_methods

PLAIN: Mapping[type, tuple[tuple[type, ...], str]] = {
    bool: ((bool,), "true or false"),
    int: ((int,), "a whole number"),
    float: ((int, float), "a number"),
    str: ((str,), "text"),
    NoneType: ((NoneType,), "null"),
}
"""The Python types of values for each plain type, and its name in messages."""

LARGEST = 2**31 - 1
"""The largest whole number of a parameter: some C libraries take no larger one."""

VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


@dataclass(frozen=True)
class Promised:
    """A component that is not built yet: an instance of `target`."""

    target: type


def check(target: type, given: Mapping[str, Any], named: str, where: str, places: Mapping[str, str]) -> None:
    """Raise ConfigError for a parameter that the class does not know, needs, or takes in another type.

    `given` holds components, built or Promised, `places` has the config key of each parameter. The constructor checks ranges
    and combinations.
    """
    accepted = _signature(target).parameters
    known = [name for name, parameter in accepted.items() if parameter.kind not in VARIADIC]
    for name in given:
        if name not in known and not any(parameter.kind is VARIADIC[1] for parameter in accepted.values()):
            raise ConfigError(places[name], f"{named} has no parameter {name!r}", closest(str(name), known))
    for name in known:
        if name not in given and accepted[name].default is inspect.Parameter.empty:
            raise ConfigError(f"{where}.{name}", f"{named} needs it and it is not given", f"set {where}.{name}=<value>")
    hints = _hints(target)
    for name, value in given.items():
        if name in hints and not fits(value, hints[name]):
            raise ConfigError(places[name], f"is {yaml_text(value)}", f"{called(hints[name])} is needed")
        if isinstance(value, int) and abs(value) > LARGEST:
            raise ConfigError(places[name], f"is {yaml_text(value)}", f"a number of at most {LARGEST:,} is needed")


_signature = lru_cache(maxsize=512)(inspect.signature)


@lru_cache(maxsize=512)
def _hints(target: type) -> dict[str, Any]:
    try:
        return get_type_hints(inspect.unwrap(target.__init__))  # type: ignore[misc]
    except (NameError, TypeError):
        # A type that is imported for type checkers only cannot be resolved.
        return {}


def fits(value: Any, hint: Any) -> bool:
    """Whether a value of a config fits a type; any value fits a type that is not known here."""
    if hint in PLAIN:
        return isinstance(value, PLAIN[hint][0]) and (hint is bool or not isinstance(value, bool))
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return any(fits(value, part) for part in parts)
    if origin is Literal:
        return any(value == part and type(value) is type(part) for part in parts)
    if getattr(hint, "_is_protocol", False) and not parts:
        if isinstance(value, Promised):
            return has_methods(value.target, hint)
        if getattr(hint, "_is_runtime_protocol", False):
            return isinstance(value, hint)
        return not isinstance(value, bool | int | float | str | list | Mapping | None)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return isinstance(value, Mapping) and all(fits(part, kind) for part in value.values() for kind in parts[-1:])
    if isinstance(origin, type) and issubclass(origin, Iterable):
        return isinstance(value, list | tuple) and all(fits(part, kind) for part in value for kind in parts[:1])
    return True


def called(hint: Any) -> str:
    """The name of a type in a message."""
    origin, parts = get_origin(hint), get_args(hint)
    if hint in PLAIN:
        return PLAIN[hint][1]
    if origin in (Union, UnionType):
        return " or ".join(called(part) for part in parts)
    if origin is Literal:
        return " or ".join(map(str, parts))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return "a mapping"
    if isinstance(origin, type) and issubclass(origin, Collection):
        return " of ".join(["a list", *(called(part) for part in parts[:1])])
    return f"a component that is a {getattr(hint, '__name__', hint)}, for example ${{embedder}}"


def yaml_text(value: Any) -> str:
    """A value as YAML, cut where it is long, for messages."""
    if isinstance(value, Promised):
        return f"a {value.target.__name__}"
    text = json.dumps(value) if value is None or isinstance(value, bool) else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
