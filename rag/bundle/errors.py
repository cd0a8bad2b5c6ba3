"""Errors of bundles that are refused."""

from pydantic import ValidationError

from rag.core.errors import DataError

AGAIN = "export it again with rag export, or get a new copy from its source"


class BundleError(DataError):
    """A bundle is damaged, or holds something that a bundle may not hold."""


def refused(where: str, what: str, remedy: str = AGAIN) -> BundleError:
    """An error about a bundle; texts from the bundle are escaped, so that they cannot control a terminal or a log."""
    return BundleError(printable(where, 1000), printable(what), remedy)


def misfit(where: str, error: ValidationError) -> BundleError:
    """An error about a value that does not fit its schema: the place and the fault of the first one."""
    first = error.errors(include_url=False)[0]
    what = "is missing" if first["type"] == "missing" else f"is {str(first['input'])[:100]!r}"
    return refused(": ".join(map(str, (where, *first["loc"]))), what, first["msg"])


def printable(text: str, most: int = 300) -> str:
    """An untrusted text on one line: characters that are not printable are escaped, and it is cut after `most` characters."""
    line = "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text[: most + 1])
    return line if len(line) <= most else line[:most] + "…"
