"""Which servers may get questions and passages, and which environment variable as a key: one rule for configs and bundles.

Free are the servers of the choices that Assay and installed plug-ins ship, each with its own variable, servers on this machine,
and those that the user exported: X_BASE_URL with X_API_KEY. Any other needs RAG_TRUST_HOST. The `conf/` of the working folder
is not read here: it may come from the author of the documents.
"""

import inspect
import logging
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

from rag.config.catalog import installed_folders
from rag.config.yaml_files import read
from rag.core.errors import ConfigError
from rag.core.models.server_keys import OFFICIAL, is_loopback

VARIABLE = "RAG_TRUST_HOST"
"""The variable with further servers: `host`, `host:port` or `host=VARIABLE`, with commas or blanks between them."""
ADDRESS = re.compile(r"\s*[A-Za-z][A-Za-z0-9+.-]*://\S+\s*")
ADDRESSES = ("address", "url", "base_url")
"""Attributes of components with the address of their server, and parameters whose text is an address in any form."""
HERE = ("file", "local", "memory", "zip", "tar", "libarchive", "simplecache", "filecache", "blockcache")
"""Schemes of stores without a server; archives and caches stand before the address of what they hold."""
FROM_ENVIRONMENT = re.compile(r"\$\{oc\.env:([A-Z_]+),'?([^'}]*)'?\}")
PORTS = {"http": 80, "https": 443, "postgresql": 5432, "postgres": 5432}
STORES = {"QDRANT_URL": "QDRANT_API_KEY", "CHROMA_URL": "CHROMA_API_KEY", "PGVECTOR_URL": "PGPASSWORD"}
"""The variable with the address of a vector store → that with its key."""

log = logging.getLogger(__name__)
Pair = tuple[str, str | None]
"""An origin, as in `https://api.openai.com:443`, and the name of a variable; None for no key."""


@dataclass(frozen=True)
class Trust:
    """The servers that a user trusts, also on the other machines of a run.

    `hosts` are written as in RAG_TRUST_HOST. `exported` has the origins of addresses in the environment by their variables.
    `packages` are the trusted plug-ins. `option` is the beginning of what trusts one more host.
    """

    hosts: frozenset[str]
    exported: Mapping[str, str]
    packages: tuple[str, ...] = ()
    option: str = f"export {VARIABLE}="

    @classmethod
    def of_user(cls, packages: tuple[str, ...] = (), hosts: tuple[str, ...] = (), option: str = option) -> "Trust":
        """The trust of this environment and of further `hosts`."""
        names = [name for name in os.environ if name.endswith("_BASE_URL") or name in STORES]
        named = re.split(r"[\s,]+", os.environ.get(VARIABLE, ""))
        return cls(frozenset({*named, *hosts} - {""}), {name: origin_of(os.environ[name]) for name in names}, packages, option)

    def check(self, where: str, address: str, variable: str | None, any_key_here: bool = True) -> None:
        """Raise ConfigError unless the server at `address` may get the value of `variable`.

        With `any_key_here` a server on this machine may get any variable, else those of shipped choices.
        """
        if not (origin := origin_of(address)):
            raise ConfigError(where, "is an address that programs may read differently", "write it like https://host:port/v1")
        host, place = urlsplit(origin).hostname or "", origin.partition("://")[2]
        if variable and origin.startswith("http://") and not is_loopback(host):
            remedy = "write https://, or api_key_env: null to send no key"
            raise ConfigError(where, f"would send {variable} to {place} without encryption", remedy)
        known = self._known()
        variables = {name for _, name in known} | {None}
        if (origin, variable) in known or (variable is None and origin in {server for server, _ in known}):
            return
        named = is_loopback(host) or bool({host, place} & self.hosts)
        if named and (variable in variables or (any_key_here and is_loopback(host))):
            return
        if not {f"{host}={variable}", f"{place}={variable}"} & self.hosts:
            exact = f"{host}={variable}" if named or variable not in variables else host
            sent = f"questions, passages and {variable}" if variable else "questions and passages"
            raise ConfigError(where, f"would send {sent} to {place}", f"if that is meant: {self.option}{exact}")

    def _known(self) -> frozenset[Pair]:
        """The pairs of shipped choices, also at addresses that the user exported."""
        shipped_pairs, variables = _shipped(self.packages)
        pairs = {(origin, f"{name.removesuffix('_BASE_URL')}_API_KEY") for name, origin in self.exported.items()}
        pairs |= {(self.exported.get(name, ""), key) for name, key in (*variables, *STORES.items())}
        return shipped_pairs | frozenset(pair for pair in pairs if pair[0])


def check_place(where: str, url: str) -> None:
    """Raise ConfigError for a store or a scheduler on another machine that the user did not name in RAG_TRUST_HOST."""
    parts = url.split("::")
    for part in parts if len(parts) > 1 else filter(re.compile("://").search, parts):
        scheme, _, rest = part.partition("://")
        if scheme not in HERE:
            Trust.of_user().check(where, f"{scheme}://{rest}", None)


def origin_of(address: str) -> str:
    """Scheme, host and port of an address; empty for one without a host, or that programs may read differently."""
    try:
        parts = urlsplit(address)
        port = parts.port if parts.port is not None else PORTS.get(parts.scheme, 0)
    except ValueError:
        return ""
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return f"{parts.scheme}://{host}{f':{port}' if port else ''}" if host and not re.search(r"[\\\s]", address) else ""


def addresses_in(node: Mapping[str, Any], where: str) -> Iterator[tuple[str, str]]:
    """Place and text of each parameter of a component, components in it aside, that is the address of a server."""
    for key, value in node.items():
        parts = {f"{key}.{number}": part for number, part in enumerate(value)} if isinstance(value, list) else {key: value}
        for name, part in parts.items():
            if isinstance(part, Mapping) and "_target_" not in part:
                yield from addresses_in(part, f"{where}.{name}")
            elif isinstance(part, str) and (ADDRESS.fullmatch(part) or (key in ADDRESSES and "://" in part)):
                yield f"{where}.{name}", part


def key_variable(node: Mapping[str, Any], target: type) -> str | None:
    """The variable whose value a component sends as a key; None if it sends none."""
    if key := STORES.get(getattr(target, "variable", "")):
        return key if os.environ.get(key, "").strip() else None
    parameter = inspect.signature(target).parameters.get("api_key_env")
    default = parameter.default if parameter else None
    variable = {"api_key_env": default, **node, **(node.get("runtime") or {})}["api_key_env"]
    return variable if isinstance(variable, str) else None


@dataclass(frozen=True)
class Server:
    """The server of a component, and the variable whose value it gets; None for no key."""

    component: str
    origin: str
    variable: str | None

    @classmethod
    def of(cls, component: str, address: str, variable: str | None) -> "Server":
        """Log it: the command line shows each line once. A variable without a value is not sent."""
        server = cls(component, origin_of(address), variable if variable and os.environ.get(variable, "").strip() else None)
        log.info("%s", server)
        return server

    def __str__(self) -> str:
        return f"{self.component} asks {self.origin} with {self.variable or 'no key'}."


@lru_cache(maxsize=4)
def _shipped(packages: tuple[str, ...]) -> tuple[frozenset[Pair], frozenset[tuple[str, str]]]:
    """Pairs of the shipped choices, and pairs of the variables that replace an address and that hold its key."""
    pairs, variables = set(), set()
    for node in shipped_components(packages):
        node = {**node, **(node.get("runtime") or {})}
        if key := node.get("api_key_env"):
            match = FROM_ENVIRONMENT.fullmatch(node.get("base_url") or "")
            address = match[2] if match else node.get("base_url") or "null"
            pairs.add((origin_of(OFFICIAL if address == "null" else address), str(key)))
            variables |= {(match[1], str(key))} if match else set()
    return frozenset(pair for pair in pairs if pair[0]), frozenset(variables)


@lru_cache(maxsize=4)
def shipped_components(packages: tuple[str, ...]) -> tuple[Mapping[str, Any], ...]:
    """The components in our `conf/` and in those of plug-ins, interpolations not resolved."""
    files = [path for folder in installed_folders(packages) for path in sorted(folder.glob("*/*.yaml"))]
    return tuple(node for path in files for node in components_in(read(path).value))


def components_in(value: Any) -> Iterator[Mapping[str, Any]]:
    """All mappings with a `_target_` in a value, at any depth, outermost first."""
    return (node for node in mappings_in(value) if "_target_" in node)


def mappings_in(value: Any) -> Iterator[Mapping[str, Any]]:
    """All mappings in a value, at any depth, outermost first."""
    if isinstance(value, Mapping):
        yield value
    for part in value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ():
        yield from mappings_in(part)
