"""Settings of a server: addresses, keys, limits. None of them changes an answer."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from pydantic import TypeAdapter, ValidationError

from rag.core.errors import ConfigError
from rag.core.models.server_keys import is_loopback
from rag.serve.keys import REMEDY, Keys

ORIGIN = re.compile(r"https?://[A-Za-z0-9.\-\[\]:]+\Z")
REMEDIES = {int: "a whole number", float: "a number", bool: "1 or 0"}


@dataclass(frozen=True)
class Settings:
    """All settings of a server. ConfigError for a value that is out of bounds or not safe.

    `rate` is requests per minute and key, 0 for no limit, and `burst` how many of them may come at once. At most `workers`
    requests work at a time and `queue` wait, half of both for one key among several. `timeout` and `idle` are seconds: the
    limit for a request, waiting included, or between two pieces of a stream, and the lifetime of an unused session. At most
    `connections` are open, or half of the file descriptors of the process. The head of a request must come within `patience`
    seconds, and a client must read on as fast. `origins` are pages of other origins that may ask. Logs and spans
    hold texts only with `log_texts`. With keys, edited prompts are sent only with `edited_prompts`.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    keys: Keys = field(default=Keys(), repr=False)
    rate: float = 600.0
    burst: int = 120
    body_bytes: int = 262_144
    question_chars: int = 8_000
    timeout: float = 60.0
    queue: int = 64
    workers: int = 32
    connections: int = 512
    patience: float = 20.0
    sessions: str = field(default="sqlite:///.rag/serve.db", repr=False)
    idle: float = 1800.0
    log_texts: bool = False
    edited_prompts: bool = False
    origins: tuple[str, ...] = ()

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
        """Read RAG_HOST, RAG_PORT, RAG_API_KEYS and so on; `overrides` that are not None take precedence."""
        values: dict[str, Any] = {}
        for setting in fields(cls):
            variable = variable_name(setting.name)
            if text := os.environ.get(variable):
                values[setting.name] = _read(type(setting.default), variable, text)
        return cls(**values | {name: value for name, value in overrides.items() if value is not None})


BOUNDS: Mapping[str, tuple[float, float]] = {
    "port": (0, 65535),
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
}


def variable_name(setting: str) -> str:
    """The environment variable of a setting."""
    return "RAG_API_KEYS" if setting == "keys" else f"RAG_{setting.upper()}"


def _read(kind: type, variable: str, text: str) -> Any:
    if kind is Keys:
        return Keys.parsed(text, variable)
    if kind is tuple:
        return tuple(part.strip().rstrip("/") for part in text.split(",") if part.strip())
    try:
        return TypeAdapter(kind).validate_python(text)
    except ValidationError:
        raise ConfigError(variable, f"is {text!r}", REMEDIES[kind]) from None
