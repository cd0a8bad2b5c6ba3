"""Check the config of an untrusted bundle completely before any of its classes is built.

A config can name classes and give them parameters, and nothing else. So every class must be a component in the folder of its
role, and no parameter may be one that the class declares as `runtime`.
"""

import inspect
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from rag.bundle.errors import refused
from rag.bundle.layout import KEPT
from rag.config import build
from rag.config.build import FORBIDDEN, RUNTIME, TARGET, Components
from rag.config.servers import Trust, addresses_in, components_in, key_variable, origin_of, shipped_components
from rag.config.stand_ins import STAND_INS
from rag.config.validation import check_together, check_typed
from rag.core.errors import ConfigError, UserError
from rag.core.models.server_keys import OFFICIAL
from rag.core.roles import INDEX_PARTS, LOADER_PARTS, has_methods, protocols, runtime_names
from rag.execution.graph.open_pipeline import SINGLE

OUTSIDE = ("loader", *LOADER_PARTS, "dataset", "system", "enrich", "roster", "metric", "judge")
ROOMS = {role: build.ROOMS[role] for role in build.ROOMS if role not in OUTSIDE}
"""Role of a bundle → the folder of `rag.components` that holds its components."""
INNER = {*ROOMS.values(), build.ROOMS["judge"]}
"""Folders of components inside of others: a gate has a judge."""
SEVERAL = ("index", "selector", "guard", "check")
VALUES = ("k", "depth", "rerank_depth")
MOST = 10_000
"""Most candidates: they are held in memory for every question."""
LARGEST = 1_000_000
"""Largest whole number of a component: it can be the size of an array. A seed may be larger."""
LONGEST = 100_000
"""Most characters of a text."""
DEEPEST = 24
"""Most levels of mappings and lists."""
URL = re.compile(
    r"(?:https?|litellm)://(?:[A-Za-z0-9._-]{1,253}|\[[0-9a-fA-F:]{2,45}\])(?::[0-9]{1,5})?(?:/[A-Za-z0-9._~/-]*)?", re.ASCII
)
"""Addresses that all programs read alike: no user, no query, nothing escaped."""
CLASS = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*){1,6}", re.ASCII)
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,63}", re.ASCII)


def check_config(config: Any, where: str, hosts: tuple[str, ...], packages: tuple[str, ...]) -> dict[str, Any]:
    """Return the config if it holds nothing but a pipeline; BundleError naming the first thing that is something else."""
    if not isinstance(config, dict):
        raise refused(where, "is not a mapping")
    if odd := sorted(set(config) ^ set(KEPT)):
        raise refused(f"{where}: {odd[0]}", "does not belong to a bundle" if odd[0] in config else "is missing")
    _check_plain(config, where, ())
    _check_values(config, where)
    for place, role, node in _components(config, where):
        _check_component(node, f"{where}: {place}", role, None if place.startswith("passage") else hosts, packages)
    return config


def _check_plain(value: Any, where: str, path: tuple[str, ...]) -> None:
    """Raise BundleError for keys and values with a special meaning, at any depth."""
    here = f"{where}: {'.'.join(path)}"
    if len(path) > DEEPEST:
        raise refused(here, f"nests deeper than {DEEPEST} levels")
    if isinstance(value, Mapping):
        for key, part in value.items():
            if key in (*FORBIDDEN, RUNTIME):
                raise refused(f"{where}: {'.'.join((*path, key))}", "is not allowed in a bundle", "leave it out")
            _check_text(key, f"{where}: {'.'.join((*path, key))}")
            _check_plain(part, where, (*path, key))
    elif isinstance(value, list):
        for number, part in enumerate(value):
            _check_plain(part, where, (*path, str(number)))
    elif isinstance(value, str):
        _check_text(value, here)
    elif isinstance(value, float) and not math.isfinite(value):
        raise refused(here, f"is {value}", "a finite number")
    elif isinstance(value, int) and abs(value) > LARGEST and path[-1] != "seed":
        raise refused(here, f"is {value:,}" if abs(value) < 10**30 else "is a huge number", f"at most {LARGEST:,}")


def _check_text(text: str, where: str) -> None:
    if "${" in text:
        raise refused(where, "holds an interpolation", "write the value itself")
    if len(text) > LONGEST or "\0" in text:
        raise refused(where, f"is a text of {len(text):,} characters, or holds a zero byte", f"at most {LONGEST:,}")


def _check_values(config: Mapping[str, Any], where: str) -> None:
    for name in VALUES:
        if not _is_count(config[name]) or config[name] > MOST:
            raise refused(f"{where}: {name}", f"is {config[name]!r}", f"a whole number from 1 to {MOST:,}")
    if config["k"] > config["depth"]:
        raise refused(f"{where}: k", f"is {config['k']}, more than depth={config['depth']}")
    if config["context_tokens"] is not None and not _is_count(config["context_tokens"]):
        raise refused(f"{where}: context_tokens", f"is {config['context_tokens']!r}", "a whole number from 1, or null")
    for name in ("pinned", "lock", "exclude", STAND_INS):
        texts = config[name]
        if not isinstance(texts, list) or not all(isinstance(each, str) for each in texts) or len(texts) > 1000:
            raise refused(f"{where}: {name}", "is not a list of texts")


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _components(config: Mapping[str, Any], where: str) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Place, role and node of every component of a config; the role is empty for a component inside another one."""
    for role in (role for role in ROOMS if role not in INDEX_PARTS):
        nodes = {role: config[role]}
        if role in SEVERAL:
            if not isinstance(config[role], dict) or not all(map(NAME.fullmatch, config[role])):
                raise refused(f"{where}: {role}", "is not a mapping of names to components")
            nodes = {f"{role}.{name}": node for name, node in config[role].items()}
        for place, node in nodes.items():
            if not isinstance(node, dict) or TARGET not in node:
                raise refused(f"{where}: {place}", "is not a component")
            yield place, role, node
            yield from ((f"{place}…", "", inner) for inner in components_in(list(node.values())))
    if not config["index"]:
        raise refused(f"{where}: index", "names no index")


def _check_component(
    node: Mapping[str, Any], where: str, role: str, hosts: tuple[str, ...] | None, packages: tuple[str, ...]
) -> None:
    """Raise BundleError for a node that is no component; `hosts` is None for one that an opened bundle never calls."""
    target = node[TARGET]
    known = f"a component of rag.components.{ROOMS.get(role, '<folder>')}"
    here = f"{where}.{TARGET}"
    if not isinstance(target, str) or not CLASS.fullmatch(target):
        raise refused(here, f"is {target!r}, which is not the name of a class", known)
    module, _, name = target.rpartition(".")
    ours, folder = module.partition(".")[0] == "rag", build.folder_of(module)
    if not ours and module.partition(".")[0] not in packages:
        raise refused(here, f"is {target!r}, which is outside of rag", known)
    if ours and folder not in ({ROOMS[role]} if role else INNER):
        raise refused(here, f"is {target!r}, which is not a component", known)
    try:
        found = Components(packages).resolve(target, where)
    except (UserError, ImportError) as error:
        raise refused(here, str(getattr(error, "what", error)), known) from error
    elsewhere = ours and found.__module__ != module
    if elsewhere or name.startswith("_") or inspect.isabstract(found) or issubclass(found, BaseException):
        raise refused(here, f"is {target!r}, which is not a component", known)
    fitting = [protocol for part in ([role] if role else (*ROOMS, "judge")) for protocol in protocols(part)]
    if (role or not ours) and not any(has_methods(found, protocol) for protocol in fitting):
        raise refused(here, f"is {target!r}, which lacks the methods of {role or 'a component'}", known)
    _check_parameters(node, found, where, hosts, packages)


def _check_parameters(
    node: Mapping[str, Any], found: type, where: str, hosts: tuple[str, ...] | None, packages: tuple[str, ...]
) -> None:
    """Raise BundleError for a `runtime` parameter, such as a cache folder, and for a server that is not trusted."""
    parameters = inspect.signature(found).parameters
    for name in sorted(set(node) & _runtime_of(found, packages)):
        raise refused(f"{where}.{name}", "is set by the machine that serves", "leave it out")
    if hosts is None:
        return
    sent = dict(addresses_in(node, where))
    if "base_url" in parameters:
        sent[f"{where}.base_url"] = url = node.get("base_url", parameters["base_url"].default) or OFFICIAL
        if not isinstance(url, str) or not URL.fullmatch(url) or not origin_of(url):
            raise refused(f"{where}.base_url", f"is {url!r}", "an address like https://host:port/v1")
    for place, address in sent.items():
        try:
            trust = Trust.of_user(packages, hosts, "--trust-host ")
            trust.check(place, address, key_variable(node, found), any_key_here=False)
        except ConfigError as error:
            raise refused(error.where, error.what, error.remedy) from None


def _runtime_of(found: type, packages: tuple[str, ...]) -> frozenset[str]:
    """The parameters that a class declares as `runtime`, or else those that any preset has in its `runtime` block."""
    if hasattr(found, "runtime"):
        return frozenset(runtime_names(found))
    named = {name for node in shipped_components(packages) for name in node.get(RUNTIME) or ()}
    return frozenset(named & inspect.signature(found).parameters.keys())


def check_roles(config: Mapping[str, Any], components: Components, where: str) -> None:
    """Raise BundleError for components that do not fit their roles; they are built, and load nothing."""
    try:
        for role in (*SINGLE, "memory", "prompt"):
            components.role(role, config[role])
        for group in SEVERAL:
            for name, node in config[group].items():
                components.role(group, node, f"{group}.{name}")
        check_together(components, config)
        check_typed(components, config)
    except UserError as error:
        raise refused(f"{where}: {error.where}", error.what, error.remedy) from error
