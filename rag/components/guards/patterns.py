"""Patterns of configs, compiled by RE2, whose searches take time linear in the length of the text."""

from collections.abc import Iterator, Sequence
from typing import Any

from rag.core.errors import ConfigError
from rag.core.text import re2_patterns

GAP = r"(?:[\s*_\"'“”‘’~-]+)"
"""A space in a pattern matches white space, emphasis and quotation marks."""

NO_GAP = r"(?:[\s*_\"'“”‘’~-]*)"
"""In a text that was spelled letter by letter a space may match nothing, because gaps between words are lost."""


def alternatives(patterns: Sequence[str], where: str, gap: str = GAP) -> Any:
    """One pattern that matches if any of `patterns` does, ignoring case; ConfigError for an invalid one.

    Spaces outside of brackets become `gap`.
    """
    for place, pattern in enumerate(patterns):
        compiled(pattern, f"{where}.{place}", gap)
    if not patterns:
        raise ConfigError(where, "is empty", "list one or more patterns, or remove the rule")
    return compiled("|".join(f"(?:{pattern})" for pattern in patterns), where, gap)


def compiled(pattern: str, where: str, gap: str = " ") -> Any:
    """A pattern compiled by RE2, ignoring case; ConfigError if it is not valid."""
    written = widened(pattern, gap) if isinstance(pattern, str) else pattern
    return re2_patterns.compiled(written, where, ignore_case=True, shown=repr(pattern))


def widened(pattern: str, gap: str) -> str:
    """A pattern with its spaces replaced, except those in brackets and after a backslash."""
    parts: list[str] = []
    inside = escaped = False
    for character in pattern:
        parts.append(gap if character == " " and not inside and not escaped else character)
        inside = character != "]" if inside and not escaped else inside or (character == "[" and not escaped)
        escaped = character == "\\" and not escaped
    return "".join(parts)


def bounded_matches(pattern: Any, text: str, most: int) -> Iterator[tuple[int, int]]:
    """The places of at most `most` matches; the limit keeps the time linear in the length of the text."""
    for number, match in enumerate(pattern.finditer(text), 1):
        start, end = match.span()
        if start < end:
            yield start, end
        if number >= most:
            return
