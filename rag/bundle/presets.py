"""Servers, their keys and `runtime` parameters, as the presets in our `conf/` and in those of trusted plug-ins name them.

The `conf/` of the working folder is not read: it may come from the author of the bundle.
"""

import importlib.util
import inspect
import os
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from rag.components.generators.openai import OFFICIAL
from rag.config.build import RUNTIME, TARGET
from rag.core.files import shipped
from rag.core.roles import runtime_names

FROM_ENVIRONMENT = re.compile(r"\$\{oc\.env:([A-Z_]+),'?([^'}]*)'?\}")

Pair = tuple[str, str]
"""An origin, as in `https://api.openai.com:443`, and the name of a variable."""


def pairs(packages: tuple[str, ...] = ()) -> frozenset[Pair]:
    """The servers of the presets with the variables of their keys; the environment can set a preset's server."""
    known = set()
    for url, variable in _servers(packages):
        match = FROM_ENVIRONMENT.fullmatch(url or "")
        addresses = {match[2], os.environ.get(match[1], "")} if match else {url or "null"}
        for address in addresses - {""}:
            origin = origin_of(OFFICIAL if address == "null" else address)
            known |= {(origin, variable)} if origin else set()
    return frozenset(known)


def origin_of(address: str) -> str:
    """Scheme, host and port of an address; empty for an address without host or port."""
    try:
        parts = urlsplit(address)
        port = parts.port if parts.port is not None else {"http": 80, "https": 443}.get(parts.scheme)
    except ValueError:
        return ""
    return f"{parts.scheme}://{parts.hostname}:{port}" if parts.hostname and port else ""


def runtime_of(found: type, packages: tuple[str, ...] = ()) -> frozenset[str]:
    """The parameters that a class declares as `runtime`, or else those that any preset has in its `runtime` block."""
    if hasattr(found, "runtime"):
        return frozenset(runtime_names(found))
    return _runtime(packages) & inspect.signature(found).parameters.keys()


@lru_cache(maxsize=4)
def _servers(packages: tuple[str, ...]) -> frozenset[tuple[str | None, str]]:
    nodes = [{**node, **(node.get(RUNTIME) or {})} for node in _components(packages)]
    return frozenset((node.get("base_url"), str(node["api_key_env"])) for node in nodes if "api_key_env" in node)


@lru_cache(maxsize=4)
def _runtime(packages: tuple[str, ...]) -> frozenset[str]:
    return frozenset(name for node in _components(packages) for name in node.get(RUNTIME) or ())


@lru_cache(maxsize=4)
def _components(packages: tuple[str, ...]) -> tuple[Mapping[str, Any], ...]:
    specs = [importlib.util.find_spec(package) for package in packages]
    places = [Path(place) / "conf" for spec in specs for place in (spec and spec.submodule_search_locations) or ()]
    files = [path for folder in (shipped("conf"), *places) for path in sorted(folder.glob("*/*.yaml"))]
    return tuple(node for path in files for node in components_in(yaml.safe_load(path.read_text("utf-8"))))


def components_in(value: Any) -> Iterator[Mapping[str, Any]]:
    """All mappings with a `_target_` in a value, at any depth, outermost first."""
    return (node for node in mappings_in(value) if TARGET in node)


def mappings_in(value: Any) -> Iterator[Mapping[str, Any]]:
    """All mappings in a value, at any depth, outermost first."""
    if isinstance(value, Mapping):
        yield value
    for part in value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ():
        yield from mappings_in(part)
