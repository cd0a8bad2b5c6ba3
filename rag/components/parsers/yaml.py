"""YAML → Markdown."""

from typing import Any, ClassVar

from rag.components.parsers.records_text import DEPTH, written
from rag.components.parsers.refusals import refusal, utf8
from rag.core.errors import DataError
from rag.core.types import Parsed


class YamlParser:
    """YAML files, with plain values only: no tag makes an object. They are shown as JSON files are."""

    suffixes: ClassVar[tuple[str, ...]] = ("yml", "yaml")
    in_process: ClassVar[bool] = False

    def __init__(self, max_values: int) -> None:
        self.max_values = max_values

    def parse(self, data: bytes, name: str) -> Parsed:
        """The values of all documents in the file; DataError for text that is not YAML, and for deep nesting."""
        text = utf8(data, name, "YAML")
        with refusal(name, "YAML"):
            return written(_documents(text, name), name, self.max_values)


def _documents(text: str, name: str) -> list[Any]:
    import yaml

    depth = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > DEPTH:  # The C code that makes values has no limit of its own.
            raise DataError(name, f"is nested more than {DEPTH} levels deep", "flatten the file, or leave it out")
    return list(yaml.load_all(text, Loader=yaml.CSafeLoader))
