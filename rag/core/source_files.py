"""A file of a folder as rules of ingestion see it, and their decision."""

from dataclasses import dataclass
from pathlib import Path, PurePath


def suffix_of(path: PurePath) -> str:
    """The suffix of a path in lower case, without the dot; empty if there is none."""
    return path.suffix.lower().removeprefix(".")


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file below a folder: `name` is relative to it, `size` in bytes, `modified` in seconds since 1970.

    `text` is the text of its document, redacted, or None before the file was parsed.
    """

    name: str
    path: Path
    size: int
    modified: float
    text: str | None = None

    @property
    def suffix(self) -> str:
        """The suffix in lower case, without the dot; empty if there is none."""
        return suffix_of(self.path)


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether a file becomes a document, and why. `rule` is the key of the rule, empty if no rule matched."""

    includes: bool
    reason: str = ""
    rule: str = ""
