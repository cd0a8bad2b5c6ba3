"""Values for logs, reports and stores, without keys, tokens and passwords, by the rules of `rag.core.secrets`."""

import math
import os
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from rag.core.secrets.finder import secret_finds
from rag.core.secrets.named import RULE, named_values
from rag.core.secrets.places import Find, placeholder, replaced, stable

HIDDEN = placeholder(RULE)
"""In place of a value under the name of a secret."""

FOLDERS = re.compile(r"(?:OLD)?PWD")
"""Environment variables that end like a password, and hold a folder."""

USER_INFO = re.compile(r"(?<=://)(?!git@)(?:[^/\s@:]{16,}:[^/\s@]*|[^/\s@:]+:?)(?=@)")
"""The user of an address without a password, or a long one with it: either may be a token. Documents keep names of users."""

USER_INFO_RULE, USER_INFO_RANK = "url-password", 4
"""The rule of conf/redaction/assay.toml for passwords in addresses; rules that know the form of a token name it first."""


@lru_cache(maxsize=4096)
def is_secret_name(name: str) -> bool:
    """Whether a name is that of a secret, such as `db.password`; `api_key_env` and `max_tokens` end otherwise."""
    return not FOLDERS.fullmatch(name) and named_values().is_name(name)


def secret_rule(text: str) -> str:
    """The rule that finds the first secret of a text; empty if there is none."""
    return next((find.rule for find in stable(text, _finds)), "")


@lru_cache(maxsize=4096)
def without_secrets(text: str) -> str:
    """The text with a placeholder for each secret."""
    return replaced(text, [find[:3] for find in stable(text, _finds)])


def without_own_secrets(text: str) -> str:
    """The text without secrets, and without the values that secrets of this environment have."""
    text = without_secrets(text)
    for value in (value for name, value in os.environ.items() if is_secret_name(name) and len(value) > 7):
        text = text.replace(value, "***")
    return text


def _finds(text: str) -> Iterator[Find]:
    yield from secret_finds(text)
    yield from (Find(*match.span(), USER_INFO_RULE, USER_INFO_RANK) for match in USER_INFO.finditer(text))


def redacted_text(key: str, value: str) -> str:
    """The text of a key with a placeholder for each secret."""
    if not value:
        return value
    return HIDDEN if is_secret_name(key) else without_secrets(value)


def redacted_json(value: Any, key: str = "") -> Any:
    """The value as mappings, lists, numbers and texts that JSON and YAML can hold, without secrets; NaN becomes None."""
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {without_secrets(str(name)): redacted_json(part, str(name)) for name, part in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [redacted_json(part, key) for part in (sorted(value, key=str) if isinstance(value, set | frozenset) else value)]
    return redacted_text(key, str(value))
