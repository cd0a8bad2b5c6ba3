"""Metadata of documents from their front matter, from their paths, and from a table in their folder.

Values are typed by their shape in all of these: whole numbers, floats, `true` and `false`; everything else is text, also dates
in ISO 8601, and numbers with leading zeros.
"""

import os
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import yaml

from rag.core.errors import ConfigError, DataError
from rag.core.headings import FRONT
from rag.core.roles import Redactor
from rag.core.text.re2_patterns import compiled
from rag.core.types import Parsed, Value
from rag.documents.clean.redact import redacted
from rag.documents.folder.file_tree import CLOSED, METADATA, Skipped, leaves_folder, refuse_escape
from rag.documents.folder.files import missing_file
from rag.documents.metadata_table import read_table, typed

LARGEST = 20_000
"""The most characters of front matter that are read."""
MARKDOWN = (".md", ".markdown")
FIELD = re.compile(r"\{([A-Za-z_]\w*)\}")
PATHS = "loader.path_metadata"
TABLE = "metadata.csv"
"""The table that a folder may have."""


class MetadataSources:
    """Where the metadata of a folder's documents are: properties of files, paths, front matter and a table, in this order.

    Later sources overrule earlier ones.
    """

    def __init__(self, folder: Path, patterns: Sequence[str], table: str | None) -> None:
        """Raise ConfigError for a pattern without fields, and for a table outside of the folder."""
        if isinstance(patterns, str):
            raise ConfigError(PATHS, f"{patterns!r} is not a list", "write ['{department}/{year}/**']")
        if table is not None and leaves_folder(table):
            raise ConfigError("loader.metadata_table", f"{table!r} leaves the folder", f"write {TABLE}, or null for none")
        self.folder, self.table = folder, table
        self.patterns = PathPatterns(patterns)

    def apart(self, files: dict[str, Path], skipped: list[Skipped]) -> tuple[dict[str, Path], list[Skipped]]:
        """The files of the folder without the table, which is no document."""
        if not self.table or not os.path.isfile(self.folder / self.table):
            return files, skipped
        line = Skipped(self.table, METADATA) if self._is_readable else Skipped(self.table, CLOSED, wanted=True)
        others = [file for file in skipped if file.name != self.table]
        return {name: path for name, path in files.items() if name != self.table}, [*others, line]

    @property
    def _is_readable(self) -> bool:
        """Whether there is a table to read; of one that a config names, the reader says why it cannot be read."""
        table = self.folder / (self.table or "")
        return os.path.isfile(table) and (self.table != TABLE or os.access(table, os.R_OK))

    def read(self, names: Collection[str], others: Collection[str], redactor: Redactor) -> "FolderMetadata":
        """The metadata of the files `names`; `others` are files that are no documents. DataError as `read_table`."""
        table = self.folder / (self.table or "")
        if self.table and self.table != TABLE and not os.path.isfile(table):
            raise missing_file(table)
        if os.path.isfile(table):
            refuse_escape(table, self.folder)
        rows = read_table(table, names, others) if self._is_readable else {}
        return FolderMetadata(self.patterns.read(names), rows, redactor)


@dataclass(frozen=True)
class FolderMetadata:
    """Metadata by the names of files: of their paths, and of a table."""

    paths: Mapping[str, Mapping[str, Value]]
    table: Mapping[str, Mapping[str, Value]]
    redactor: Redactor

    def of(self, name: str, content: Parsed) -> dict[str, Value]:
        """The metadata of one document, redacted. A title in front matter is read by the parser."""
        front = {key: value for key, value in front_matter(name, content.text).items() if key not in content.metadata}
        row = {self._columns[column]: value for column, value in self.table.get(name, {}).items()}
        added = {**self.paths.get(name, {}), **front, **row}
        return {**content.metadata, **{key: self._redacted(value) for key, value in added.items()}}

    @cached_property
    def _columns(self) -> Mapping[str, str]:
        return {column: redacted(column, self.redactor) for column in {column for row in self.table.values() for column in row}}

    def _redacted(self, value: Value) -> Value:
        return redacted(value, self.redactor) if isinstance(value, str) else value


def front_matter(name: str, text: str) -> dict[str, Value]:
    """The metadata between `---` lines at the top of a Markdown file.

    A list is a text with commas between its items; nested values are left out. YAML of dates, numbers and `yes` is not applied:
    `1:30` and `no` stay text. In YAML that cannot be read, each line `key: value` counts.
    """
    found = FRONT.match(text[:LARGEST]) if name.lower().endswith(MARKDOWN) else None
    if not found:
        return {}
    content = found[0].strip().strip("-")
    try:
        node = yaml.compose(content, yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError):
        lines = (line.partition(": ") for line in content.splitlines() if line[:1].isalpha())
        return {key.strip(): typed(value) for key, _, value in lines if value.strip()}
    pairs = node.value if isinstance(node, yaml.MappingNode) else ()
    return {str(key.value): value for key, node in pairs if (value := _scalar(node)) not in (None, "")}


def _scalar(node: yaml.Node) -> Value | None:
    if isinstance(node, yaml.SequenceNode) and all(isinstance(item, yaml.ScalarNode) for item in node.value):
        return ", ".join(item.value for item in node.value)
    if not isinstance(node, yaml.ScalarNode) or node.tag == "tag:yaml.org,2002:null":
        return None
    return str(node.value) if node.style in ("'", '"') else typed(node.value)


class PathPatterns:
    """Patterns such as `{department}/{year}/**`: `{name}` is a part of one name, `*` and `**` are as in glob patterns."""

    def __init__(self, patterns: Sequence[str]) -> None:
        """Raise ConfigError for a pattern without a field, or with one field twice."""
        self.patterns = tuple((pattern, _pattern(pattern)) for pattern in patterns)

    def read(self, names: Collection[str]) -> dict[str, dict[str, Value]]:
        """The fields of every path by the first pattern that matches it; DataError for a pattern that matches no path."""
        found: dict[str, dict[str, Value]] = {}
        for pattern, known in self.patterns:
            rows = {name: match for name in names if (match := known.fullmatch(name))}
            if not rows and names:
                raise DataError(PATHS, f"{pattern!r} matches no path", f"one of the paths is {min(names)!r}")
            for name, match in rows.items():
                found.setdefault(name, {key: typed(value) for key, value in match.groupdict().items()})
        return found


def _pattern(pattern: str) -> re.Pattern[str]:
    fields = FIELD.findall(pattern) if isinstance(pattern, str) else []
    if not fields or len(set(fields)) < len(fields):
        raise ConfigError(PATHS, f"{pattern!r} has no field, or one twice", "write, for example, {department}/{year}/**")
    if re.search(r"\}[*{]|[*]\{", pattern):
        raise ConfigError(PATHS, f"{pattern!r} has nothing between a field and its neighbour", "put a letter between: {a}-{b}")
    pieces = re.split(r"(\{\w+\}|\*\*/|\*\*|\*)", pattern)
    return compiled("".join(_piece(piece) for piece in pieces), PATHS, shown=repr(pattern))  # type: ignore[no-any-return]


def _piece(piece: str) -> str:
    known = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*"}
    return known.get(piece) or (f"(?P<{piece[1:-1]}>[^/]+)" if FIELD.fullmatch(piece) else re.escape(piece))
