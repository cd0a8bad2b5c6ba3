"""Patterns of configs, compiled by RE2: the time that a search takes grows with the length of the text, whatever the text."""

from collections.abc import Iterator, Sequence
from typing import Any

import re2

from rag.core.errors import ConfigError

GAP = r"(?:[\s*_\"'“”‘’~-]+)"
"""What a space in a pattern stands for: white space, or the emphasis and quotation marks that hide in its place."""

NO_GAP = r"(?:[\s*_\"'“”‘’~-]*)"
"""What it stands for in a text whose letters were spelled out one by one: there the gaps between words are lost."""


def alternatives(patterns: Sequence[str], where: str, gap: str = GAP) -> Any:
    """One pattern that finds what any of `patterns` does, in any case of letters; ConfigError for one that RE2 does not take.

    A space outside of brackets is widened to `gap`.
    """
    for place, pattern in enumerate(patterns):
        compiled(pattern, f"{where}.{place}", gap)
    if not patterns:
        raise ConfigError(where, "holds no pattern", "list one or more, or leave the rule out")
    return compiled("|".join(f"(?:{pattern})" for pattern in patterns), where, gap)


def compiled(pattern: str, where: str, gap: str = " ") -> Any:
    """A pattern as RE2 takes it, in any case of letters; ConfigError if it does not."""
    options = re2.Options()
    options.case_sensitive = False
    options.log_errors = False
    if not isinstance(pattern, str) or not pattern:
        raise ConfigError(where, f"is {pattern!r}, which is no pattern", "write it in single quotes")
    try:
        return re2.compile(widened(pattern, gap), options)
    except re2.error as error:
        said = error.args[0].decode() if error.args and isinstance(error.args[0], bytes) else error
        remedy = "RE2 knows no look-around and no back-references: github.com/google/re2/wiki/Syntax"
        raise ConfigError(where, f"{pattern!r} is no pattern: {said}", remedy) from error


def widened(pattern: str, gap: str) -> str:
    """A pattern with its spaces replaced, except those in brackets and behind a backslash."""
    parts: list[str] = []
    inside = escaped = False
    for character in pattern:
        parts.append(gap if character == " " and not inside and not escaped else character)
        inside = character != "]" if inside and not escaped else inside or (character == "[" and not escaped)
        escaped = character == "\\" and not escaped
    return "".join(parts)


def bounded_matches(pattern: Any, text: str, most: int) -> Iterator[tuple[int, int]]:
    """Where a pattern matches, at most `most` times: with that limit, time grows with the length of the text."""
    for number, match in enumerate(pattern.finditer(text), 1):
        start, end = match.span()
        if start < end:
            yield start, end
        if number >= most:
            return
