"""Which servers a bundle may send questions and passages to, and which environment variable as a key.

Trusted are the servers of the presets in `conf/`, each with its own variable, servers on this machine, and those that the
caller of `open_bundle` names.
"""

import re
from urllib.parse import urlsplit

from rag.bundle.errors import refused
from rag.bundle.presets import origin_of, pairs
from rag.components.generators.openai import OFFICIAL
from rag.core.models.server_keys import is_loopback

URL = re.compile(r"https?://(?:[A-Za-z0-9.-]{1,253}|\[[0-9a-fA-F:]{2,45}\])(?::[0-9]{1,5})?(?:/[A-Za-z0-9._~/-]*)?", re.ASCII)
"""Addresses that all programs read alike: no user, no query, nothing escaped."""


def check_endpoint(
    where: str, url: str | None, variable: str | None, hosts: tuple[str, ...], packages: tuple[str, ...] = ()
) -> None:
    """Raise BundleError unless the server at `url` may get the value of `variable`.

    `hosts` are trusted by the caller: `host` or `host:port` with the variables of presets, `host=VARIABLE` with that one.
    """
    address = OFFICIAL if url is None else url
    origin = origin_of(address) if isinstance(address, str) and URL.fullmatch(address) else ""
    if not origin:
        raise refused(f"{where}.base_url", f"is {address!r}", "an address like https://host:port/v1")
    known = pairs(packages)
    if (origin, variable) in known or (variable is None and origin in {server for server, _ in known}):
        return
    host = urlsplit(address).hostname or ""
    variables = {name for _, name in known} | {None}
    if variable in variables and (is_loopback(host) or host in hosts or _place(origin) in hosts):
        return
    if {f"{host}={variable}", f"{_place(origin)}={variable}"} & set(hosts):
        return
    if is_loopback(host) or host in hosts or _place(origin) in hosts:
        what = f"would send {variable} to {_place(origin)}"
        raise refused(f"{where}.api_key_env", what, f"if that is meant: --trust-host {host}={variable}")
    sent = f"questions, passages and {variable}" if variable else "questions and passages"
    raise refused(f"{where}.base_url", f"would send {sent} to {_place(origin)}", f"if that is meant: --trust-host {host}")


def _place(origin: str) -> str:
    return origin.partition("://")[2]
