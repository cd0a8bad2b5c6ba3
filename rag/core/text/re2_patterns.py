"""Patterns of configs, compiled by RE2, whose searches take time linear in the length of the text."""

from typing import Any

from rag.core.errors import ConfigError


def compiled(pattern: object, where: str, ignore_case: bool = False, shown: str = "") -> Any:
    """A pattern compiled by RE2; ConfigError if it is not valid, which names `shown` if a config has other words for it."""
    import re2

    if not isinstance(pattern, str) or not pattern:
        raise ConfigError(where, f"is {pattern!r}, which is not a pattern", "write it in single quotes")
    options = re2.Options()
    options.case_sensitive, options.log_errors = not ignore_case, False
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        reason = error.args[0].decode() if error.args and isinstance(error.args[0], bytes) else error
        remedy = "RE2 has no look-around and no back-references: github.com/google/re2/wiki/Syntax"
        raise ConfigError(where, f"{shown or repr(pattern)} is not a valid pattern: {reason}", remedy) from error
