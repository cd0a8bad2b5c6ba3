"""Why a bundle is not opened."""

from rag.core.errors import DataError

AGAIN = "write it again with rag export, or get it again from where it comes"


class BundleError(DataError):
    """A bundle is not what it says it is, or asks for what no bundle may."""


def refused(where: str, what: str, remedy: str = AGAIN) -> BundleError:
    """The error for something in a bundle, told so that nothing in it can write into a terminal or a log."""
    return BundleError(printable(where, 1000), printable(what), remedy)


def printable(text: str, most: int = 300) -> str:
    """A text that a stranger may have written, on one line: what is not printable is escaped, what is long is cut."""
    plain = "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text[: most + 1])
    return plain if len(plain) <= most else plain[:most] + "…"
