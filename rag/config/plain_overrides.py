"""Overrides that need no grammar: `key=value` with words or paths, numbers, or a list of these. Importing Hydra takes .2 s."""

import re
from dataclasses import dataclass
from typing import Any

KEY = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*", re.ASCII)
WORD = re.compile(r"[A-Za-z_/][\w./-]*", re.ASCII)
"""A name or a path."""
WHOLE = re.compile(r"0|[1-9]\d{0,14}", re.ASCII)
FRACTION = re.compile(r"\d{1,15}\.\d{1,15}", re.ASCII)
NAMED = {"true": True, "false": False, "null": None}
NUMBERS = ("nan", "inf")
UNREAD: Any = object()


@dataclass(frozen=True)
class PlainOverride:
    """An override with the interface of Hydra's."""

    key_or_group: str
    content: Any
    input_line: str
    package: str | None = None

    def value(self) -> Any:
        """The value, as Hydra reads it."""
        return self.content

    def get_key_element(self) -> str:
        """The key."""
        return self.key_or_group

    def is_delete(self) -> bool:
        """False: it sets a value."""
        return False

    is_add = is_force_add = is_sweep_override = is_delete


def plain(text: str) -> PlainOverride | None:
    """The override that a text is, None where only Hydra's grammar can read it."""
    key, _, written = text.partition("=")
    if not KEY.fullmatch(key):
        return None
    is_list = written[:1] == "[" and written[-1:] == "]"
    values = [_value(part) for part in (written[1:-1].split(",") if is_list else [written])]
    return None if UNREAD in values else PlainOverride(key, values if is_list else values[0], text)


def alternatives(text: str) -> list[str] | None:
    """The overrides that `key=a,b,c` stands for, where each value is a word or a number; None for other texts."""
    key, _, written = text.partition("=")
    values = [_value(part) for part in written.split(",")]
    are_plain = len(values) > 1 and all(type(value) in (int, float, str) for value in values)
    return [f"{key}={value}" for value in values] if are_plain and KEY.fullmatch(key) else None


def _value(text: str) -> Any:
    if WORD.fullmatch(text) and text.lower() not in (*NAMED, *NUMBERS):
        return text
    if WHOLE.fullmatch(text):
        return int(text)
    return float(text) if FRACTION.fullmatch(text) else NAMED.get(text, UNREAD)
