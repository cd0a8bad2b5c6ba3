"""How a server behaves, whatever it serves: addresses, keys, limits. None of it can change an answer."""

import ipaddress
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from rag.core.errors import ConfigError
from rag.serve.keys import REMEDY, Keys

ORIGIN = re.compile(r"https?://[A-Za-z0-9.\-\[\]:]+\Z")
HIGHEST_PORT = 65535


@dataclass(frozen=True)
class Settings:
    """All that a server is told besides its bundles. ConfigError where something cannot be, or would not be safe.

    `rate` is requests per minute and key, 0 for no limit, and `burst` how many of them may come at once. At most `workers`
    requests are worked on at a time and `queue` wait, half of both for one key among several. `timeout` and `idle` are seconds:
    what a request may take, waiting included, or a stream from piece to piece, and how long a session lives unused. At most
    `connections` are open, or half of the descriptors of the process. The head of a request has `patience` seconds to come, and
    a client as many to read on. `origins` are pages elsewhere that may ask. Of `trace_share` of the requests, 0 to 1, a trace
    is sent to MLflow. Texts stand in logs and traces only with `log_texts`.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    keys: Keys = field(default_factory=Keys, repr=False)
    rate: float = 600
    burst: int = 120
    body_bytes: int = 262_144
    question_chars: int = 8_000
    timeout: float = 60
    queue: int = 64
    workers: int = 32
    connections: int = 512
    patience: float = 20
    sessions: str = field(default="sqlite:///.rag/serve.db", repr=False)
    idle: float = 1800
    log_texts: bool = False
    origins: tuple[str, ...] = ()
    trace_share: float = 0.0

    def __post_init__(self) -> None:
        for name, (low, high) in BOUNDS.items():
            value = getattr(self, name)
            if not low <= value <= high:
                raise ConfigError(variable_name(name), f"is {value:g}", f"a number from {low:g} to {high:g}")
        if not self.keys and not is_loopback(self.host):
            what = f"is {self.host!r}, which others can reach, and there are no keys"
            raise ConfigError(variable_name("host"), what, f"serve on 127.0.0.1, or set RAG_API_KEYS: {REMEDY}")
        for origin in self.origins:
            if not ORIGIN.match(origin):
                raise ConfigError(variable_name("origins"), f"has {origin!r}", "name pages as https://host or http://host:port")

    @classmethod
    def from_environment(cls, **overrides: Any) -> "Settings":
        """From RAG_HOST, RAG_PORT, RAG_API_KEYS and so on; `overrides` that are not None go before them."""
        told = {one.name: os.environ.get(variable_name(one.name)) for one in fields(cls)}
        found = {name: READERS[name](variable_name(name), text) for name, text in told.items() if text}
        return cls(**found | {name: value for name, value in overrides.items() if value is not None})


BOUNDS: Mapping[str, tuple[float, float]] = {
    "port": (0, HIGHEST_PORT),
    "rate": (0, 1e9),
    "burst": (1, 1e9),
    "body_bytes": (1024, 2**30),
    "question_chars": (1, 2**24),
    "timeout": (0.01, 86_400),
    "queue": (0, 1e6),
    "workers": (1, 4096),
    "connections": (2, 1e6),
    "patience": (0.01, 86_400),
    "idle": (0.01, 1e9),
    "trace_share": (0, 1),
}


def variable_name(setting: str) -> str:
    """The environment variable of a setting."""
    return "RAG_API_KEYS" if setting == "keys" else f"RAG_{setting.upper()}"


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _whole(where: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ConfigError(where, f"is {text!r}", "a whole number") from None


def _number(where: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ConfigError(where, f"is {text!r}", "a number") from None


def _switch(where: str, text: str) -> bool:
    known = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
    if text.lower() not in known:
        raise ConfigError(where, f"is {text!r}", "1 or 0")
    return known[text.lower()]


def _listed(where: str, text: str) -> tuple[str, ...]:
    return tuple(part.strip().rstrip("/") for part in text.split(",") if part.strip())


def _text(where: str, text: str) -> str:
    return text


READERS: Mapping[str, Callable[[str, str], Any]] = {
    "host": _text,
    "port": _whole,
    "keys": lambda where, text: Keys.parsed(text, where),
    "rate": _number,
    "burst": _whole,
    "body_bytes": _whole,
    "question_chars": _whole,
    "timeout": _number,
    "queue": _whole,
    "workers": _whole,
    "connections": _whole,
    "patience": _number,
    "sessions": _text,
    "idle": _number,
    "log_texts": _switch,
    "origins": _listed,
    "trace_share": _number,
}
