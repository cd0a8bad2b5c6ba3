"""The config of a stranger: looked at in full, before a single class of it is built.

A config can name classes and give them parameters, and that is all that it can do. So every class must be a component in the
room of its role, and no parameter one that the class declares as `runtime`.
"""

import inspect
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from rag.bundle.endpoints import check_endpoint
from rag.bundle.errors import refused
from rag.bundle.layout import KEPT
from rag.bundle.presets import components_in, runtime_of
from rag.config import build
from rag.config.build import FORBIDDEN, RUNTIME, TARGET, Components
from rag.config.moved import new_name
from rag.config.validation import check_fusion, check_typed
from rag.core.errors import UserError
from rag.core.roles import has_methods, protocols
from rag.execution.graph.open_pipeline import SINGLE

ROOMS = {role: room for role, room in build.ROOMS.items() if role not in ("loader", "dataset", "metric", "judge")}
"""Role of a bundle → the folder of `rag.components` that holds its components."""
SEVERAL = ("index", "selector", "guard", "check")
VALUES = ("k", "depth", "rerank_depth")
DEEPEST = 10_000
"""The most candidates: they are held in memory for every question."""
LARGEST = 1_000_000
"""The largest whole number of a component: sizes of arrays are among them. A seed may be larger."""
LONGEST = 100_000
"""Characters of a text."""
CLASS = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*){1,6}", re.ASCII)
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,63}", re.ASCII)


def check_config(config: Any, where: str, hosts: tuple[str, ...], packages: tuple[str, ...]) -> dict[str, Any]:
    """The config, if nothing in it is more than a pipeline needs; BundleError naming the first thing that is."""
    if not isinstance(config, dict):
        raise refused(where, "is no mapping")
    if odd := sorted(set(config) ^ set(KEPT)):
        raise refused(f"{where}: {odd[0]}", "is no part of a bundle" if odd[0] in config else "is missing")
    _check_plain(config, where, "")
    _check_values(config, where)
    for place, role, node in _components(config, where):
        _check_component(node, f"{where}: {place}", role, hosts, packages)
    return config


def _check_plain(value: Any, where: str, name: str) -> None:
    """Raise BundleError for keys and values that mean more than they say, at any depth."""
    if isinstance(value, dict):
        for key, part in value.items():
            if key in (*FORBIDDEN, RUNTIME):
                raise refused(f"{where}: {name}{key}", "stands in no bundle", "leave it out")
            _check_text(key, f"{where}: {name}{key}")
            _check_plain(part, where, f"{name}{key}.")
    elif isinstance(value, list):
        for number, part in enumerate(value):
            _check_plain(part, where, f"{name}{number}.")
    elif isinstance(value, str):
        _check_text(value, f"{where}: {name[:-1]}")
    elif isinstance(value, float) and not math.isfinite(value):
        raise refused(f"{where}: {name[:-1]}", f"is {value}", "a finite number")
    elif isinstance(value, int) and abs(value) > LARGEST and not name.endswith("seed."):
        raise refused(
            f"{where}: {name[:-1]}", f"is {value:,}" if abs(value) < 10**30 else "is a huge number", f"at most {LARGEST:,}"
        )


def _check_text(text: str, where: str) -> None:
    if "${" in text:
        raise refused(where, "holds an interpolation", "a bundle is resolved: write the value itself")
    if len(text) > LONGEST or "\0" in text:
        raise refused(where, f"is a text of {len(text):,} characters, or holds a zero", f"at most {LONGEST:,}")


def _check_values(config: Mapping[str, Any], where: str) -> None:
    for name in VALUES:
        if not _is_count(config[name]) or config[name] > DEEPEST:
            raise refused(f"{where}: {name}", f"is {config[name]!r}", f"a whole number from 1 to {DEEPEST:,}")
    if config["k"] > config["depth"]:
        raise refused(f"{where}: k", f"is {config['k']}, more than depth={config['depth']}")
    if config["context_tokens"] is not None and not _is_count(config["context_tokens"]):
        raise refused(f"{where}: context_tokens", f"is {config['context_tokens']!r}", "a whole number from 1, or null")
    pinned = config["pinned"]
    if not isinstance(pinned, list) or not all(isinstance(name, str) for name in pinned) or len(pinned) > 1000:
        raise refused(f"{where}: pinned", "is no list of doc_ids")


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _components(config: Mapping[str, Any], where: str) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Place, role and node of every component of a config; the role is empty for one inside another."""
    for role in ROOMS:
        given = config[role]
        if role in SEVERAL and not (isinstance(given, dict) and all(NAME.fullmatch(name) for name in given)):
            raise refused(f"{where}: {role}", "is no mapping of names to components")
        if role in SEVERAL and TARGET in given:
            raise refused(f"{where}: {role}", "is one component without a name, as older bundles have it", "export it again")
        for place, node in (
            {f"{role}.{name}": node for name, node in given.items()}.items() if role in SEVERAL else [(role, given)]
        ):
            if not isinstance(node, dict) or TARGET not in node:
                raise refused(f"{where}: {place}", "is no component")
            yield place, role, node
            yield from ((f"{place}…", "", inner) for inner in components_in(list(node.values())))
    if not config["index"]:
        raise refused(f"{where}: index", "names no index")


def _check_component(node: Mapping[str, Any], where: str, role: str, hosts: tuple[str, ...], packages: tuple[str, ...]) -> None:
    target = node[TARGET]
    known = f"a component of rag.components.{ROOMS.get(role, '<folder>')}"
    if not isinstance(target, str) or not CLASS.fullmatch(target):
        raise refused(f"{where}.{TARGET}", f"is {target!r}, which is no class", known)
    package, folder = target.partition(".")[0], build.folder_of(target.rpartition(".")[0])
    if package != "rag" and package not in packages:
        raise refused(f"{where}.{TARGET}", f"is {target!r}, which is outside of rag", known)
    if new_name(target):
        what = f"is {target!r}, a name of an older version"
        raise refused(f"{where}.{TARGET}", what, "export the trial again: this version reads bundles of its own")
    if package == "rag" and folder not in ({ROOMS[role]} if role else ROOMS.values()):
        raise refused(f"{where}.{TARGET}", f"is {target!r}, which is no component", known)
    try:
        found = Components(packages).resolve(target, where)
    except (UserError, ImportError) as error:
        raise refused(f"{where}.{TARGET}", str(getattr(error, "what", error)), known) from error
    module, _, name = target.rpartition(".")
    elsewhere = package == "rag" and found.__module__ != module
    if elsewhere or name.startswith("_") or inspect.isabstract(found) or issubclass(found, BaseException):
        raise refused(f"{where}.{TARGET}", f"is {target!r}, which is no component", known)
    fitting = [protocol for one in ([role] if role else ROOMS) for protocol in protocols(one)]
    if (role or package != "rag") and not any(has_methods(found, protocol) for protocol in fitting):
        raise refused(f"{where}.{TARGET}", f"is {target!r}, which does not do what {role or 'a component'} does", known)
    _check_parameters(node, found, where, hosts, packages)


def _check_parameters(
    node: Mapping[str, Any], found: type, where: str, hosts: tuple[str, ...], packages: tuple[str, ...]
) -> None:
    """Raise BundleError for a parameter that is `runtime`: a folder of this machine, a variable that holds a key."""
    parameters = inspect.signature(found).parameters
    for name in sorted(set(node) & runtime_of(found, packages)):
        raise refused(f"{where}.{name}", "is a matter of the machine that serves", "leave it out")
    if "base_url" in parameters:
        given = {name: one.default for name, one in parameters.items()} | dict(node)
        check_endpoint(where, given["base_url"], given.get("api_key_env"), hosts, packages)


def check_roles(config: Mapping[str, Any], components: Components, where: str) -> None:
    """Raise BundleError for components that do not fit their roles; they are built, and load nothing."""
    try:
        for role in (*SINGLE, "memory", "prompt"):
            components.role(role, config[role])
        for group in SEVERAL:
            for name, node in config[group].items():
                components.role(group, node, f"{group}.{name}")
        check_fusion(components, config)
        check_typed(components, config)
    except UserError as error:
        raise refused(f"{where}: {error.where}", error.what, error.remedy) from error
