"""The grammar of interpolations: `${key}`, `${..key}`, `${oc.env:NAME,default}`, `${oc.select:key,default}`, `${found:folder}`.

It is that of OmegaConf, as far as `rag.config.limits.check_references` allows it.
"""

import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import yaml

from rag.core.errors import ConfigError

OPENING = re.compile(r"(\\*)\$\{")
PATH = re.compile(r"\s*(\.*)([^\s.\[\]:,{}$'\"]+(?:\.[^\s.\[\]]+|\[[^\]\s]+\])*)\s*")
BRACKETS = {"{": "}", "[": "]"}
CONSTANTS: Mapping[str, Any] = {"null": None, "true": True, "false": False}
Template = tuple[Any, ...]
"""The parts of a text in their order: text, `Path` and `Call`."""


@dataclass(frozen=True)
class Path:
    """`${a.b}` from the root, or `${..a.b}` from the mapping so many levels `up`, that of the value being the first."""

    keys: tuple[str, ...]
    up: int = 0


@dataclass(frozen=True)
class Call:
    """`${name:argument,argument}`; an argument is a Template, or any other value."""

    name: str
    arguments: tuple[Any, ...]


def is_open(value: Any) -> bool:
    """Whether a value is a text with interpolations."""
    return isinstance(value, str) and "${" in value


def check_text(where: str, text: str) -> None:
    """Raise ConfigError for a text with an interpolation that cannot be read."""
    try:
        parsed(text)
    except ValueError as error:
        shown = text if len(text) <= 60 else f"{text[:57]}..."
        raise ConfigError(where, f"holds {shown!r}: {error}", "write ${key}, or \\${ for the two characters") from error


@lru_cache(maxsize=4096)
def parsed(text: str) -> Template:
    """The parts of a text; ValueError for an interpolation that cannot be read."""
    parts, end = list[Any](), 0
    while found := OPENING.search(text, end):
        slashes = len(found[1])
        parts.append(text[end : found.start()] + "\\" * (slashes // 2))
        if slashes % 2:
            parts.append("${")
            end = found.end()
        else:
            part, end = _interpolation(text, found.end())
            parts.append(part)
    return tuple(part for part in (*parts, text[end:]) if part != "")


def path(text: str) -> Path:
    """The path in `a.b`, `a[b]` or `..a`; ValueError for another text."""
    found = PATH.fullmatch(text)
    if not found:
        raise ValueError(f"{text.strip()!r} is not the name of a key")
    return Path(tuple(filter(None, re.split(r"[.\[\]]+", found[2]))), len(found[1]))


def _interpolation(text: str, start: int) -> tuple[Path | Call, int]:
    """What stands between `${` and its `}`, and the place behind it."""
    cuts, awaited, place = [start], ["}"], start
    while awaited:
        if place >= len(text):
            raise ValueError("an interpolation is not closed")
        sign = text[place]
        if sign == awaited[-1]:
            awaited.pop()
        elif sign in BRACKETS:
            awaited.append(BRACKETS[sign])
        elif sign in "'\"" and (place := text.find(sign, place + 1)) < 0:
            raise ValueError("a quotation mark is not closed")
        elif len(awaited) == 1 and sign == (":" if len(cuts) == 1 else ","):
            cuts.append(place + 1)
        place += 1
    name, *arguments = (text[one : other - 1].strip() for one, other in itertools.pairwise([*cuts, place]))
    return (Call(name, tuple(map(_argument, arguments))) if len(cuts) > 1 else path(name)), place


def _argument(text: str) -> Any:
    """The value of an argument as it is written; a Template where it holds interpolations."""
    if text[:1] in ("'", '"') and text[-1:] == text[:1]:
        return _closed(text[1:-1])
    if text in ("{}", "[]"):
        return yaml.safe_load(text)
    if text.lower() in CONSTANTS:
        return CONSTANTS[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return _closed(text)


def _closed(text: str) -> Any:
    return parsed(text) if "${" in text else text
