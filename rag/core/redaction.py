"""Values for logs and reports, without keys, tokens and passwords."""

import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

SECRET_KEY = re.compile(
    r"(api[_-]?key|access[_-]?key|private[_-]?key|token|secret|passw(or)?d|credentials?|authorization)\Z", re.IGNORECASE
)
"""Names whose values are hidden; `api_key_env` and `max_tokens` end otherwise and stay."""

SECRET_VALUE = re.compile(r"\b(?:sk|pk|ghp|gho|hf|xox[abp])[-_][A-Za-z0-9_-]{16,}|(?<=://)[^/\s@]+(?=@)")
"""Keys of well-known services, and `user:password` in an address."""

HIDDEN = "***"


def redacted_text(key: str, value: str) -> str:
    """The text of a key with secrets replaced by `***`."""
    return HIDDEN if value and SECRET_KEY.search(key) else SECRET_VALUE.sub(HIDDEN, value)


def redacted_json(value: Any, key: str = "") -> Any:
    """The value as mappings, lists, numbers and texts that JSON and YAML can hold, without secrets; NaN becomes None."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, Mapping):
        return {str(name): redacted_json(part, str(name)) for name, part in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [redacted_json(part, key) for part in (sorted(value, key=str) if isinstance(value, set | frozenset) else value)]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int):
        return value
    return redacted_text(key, str(value))
