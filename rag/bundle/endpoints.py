"""Which servers a bundle may talk to, and which variable of the environment it may send them as a key.

What a bundle names is where questions and passages go. Trusted are the servers of the presets in `conf/`, each with its own
variable, servers on this machine, and those that whoever opens the bundle names.
"""

import ipaddress
import os
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

import yaml

from rag.bundle.refusal import refused
from rag.files import shipped
from rag.generators.openai import OFFICIAL

URL = re.compile(r"https?://(?:[A-Za-z0-9.-]{1,253}|\[[0-9a-fA-F:]{2,45}\])(?::[0-9]{1,5})?(?:/[A-Za-z0-9._~/-]*)?", re.ASCII)
"""Addresses that everybody reads alike: no user, no query, nothing escaped."""
FROM_ENVIRONMENT = re.compile(r"\$\{oc\.env:([A-Z_]+),'?([^'}]*)'?\}")

Pair = tuple[str, str]
"""An origin, as in `https://api.openai.com:443`, and the name of a variable."""


def check_endpoint(where: str, url: str | None, variable: str | None, hosts: tuple[str, ...]) -> None:
    """Raise BundleError unless a server may be sent the value of a variable.

    `hosts` are those that the caller trusts: `host` or `host:port` with the variables of presets, `host=VARIABLE` with this.
    """
    address = OFFICIAL if url is None else url
    if not isinstance(address, str) or not URL.fullmatch(address):
        raise refused(f"{where}.base_url", f"is {address!r}", "an address like https://host:port/v1")
    try:
        origin = origin_of(address)
    except ValueError as error:
        raise refused(f"{where}.base_url", f"is {address!r}: {error}", "an address like https://host:port/v1") from error
    pairs = preset_pairs()
    if (origin, variable) in pairs or (variable is None and origin in {known for known, _ in pairs}):
        return
    host = urlsplit(address).hostname or ""
    variables = {known for _, known in pairs} | {None}
    if variable in variables and (is_loopback(host) or host in hosts or _place(origin) in hosts):
        return
    if {f"{host}={variable}", f"{_place(origin)}={variable}"} & set(hosts):
        return
    if is_loopback(host) or host in hosts or _place(origin) in hosts:
        what = f"would send {variable} to {_place(origin)}"
        raise refused(f"{where}.api_key_env", what, f"if that is meant: --trust-host {host}={variable}")
    sent = f"questions, passages and {variable}" if variable else "questions and passages"
    raise refused(f"{where}.base_url", f"would send {sent} to {_place(origin)}", f"if that is meant: --trust-host {host}")


def origin_of(address: str) -> str:
    """Scheme, host and port of an address; ValueError for a port that is none."""
    parts = urlsplit(address)
    port = parts.port if parts.port is not None else {"http": 80, "https": 443}[parts.scheme]
    return f"{parts.scheme}://{parts.hostname}:{port}"


def _place(origin: str) -> str:
    return origin.partition("://")[2]


def is_loopback(host: str) -> bool:
    """Whether a host is this machine by its very name."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def preset_pairs() -> frozenset[Pair]:
    """The servers of the presets with their variables, also as the environment of this process renames them."""
    found = set()
    for url, variable in _presets():
        match = FROM_ENVIRONMENT.fullmatch(url or "")
        addresses = {match[2], os.environ.get(match[1], "")} if match else {url or "null"}
        for address in addresses - {""}:
            address = OFFICIAL if address == "null" else address
            if URL.fullmatch(address):
                found.add((origin_of(address), variable))
    return frozenset(found)


@lru_cache(maxsize=1)
def _presets() -> frozenset[tuple[str | None, str]]:
    files = [yaml.safe_load(path.read_text("utf-8")) for path in sorted(shipped("conf").glob("*/*.yaml"))]
    return frozenset((node.get("base_url"), str(node["api_key_env"])) for node in nodes_of(files) if "api_key_env" in node)


def nodes_of(value: Any) -> Iterator[Mapping[str, Any]]:
    """All mappings in a value, at any depth; what stands in their `runtime` counts as theirs."""
    if isinstance(value, Mapping):
        yield {**value, **runtime} if isinstance(runtime := value.get("runtime"), Mapping) else value
        for name, part in value.items():
            yield from nodes_of(part) if name != "runtime" else ()
    elif isinstance(value, list):
        for part in value:
            yield from nodes_of(part)
