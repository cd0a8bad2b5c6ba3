"""YAML → Markdown."""

from typing import Any, ClassVar

from rag.components.parsers.records_text import DEPTH, RecordsText
from rag.components.parsers.refusals import refusal, refuse_other
from rag.core.errors import DataError
from rag.core.records import Parsed
from rag.documents.files import decode


class YamlParser:
    """YAML files, with plain values only: no tag makes an object. They are shown as JSON files are."""

    suffixes: ClassVar[tuple[str, ...]] = ("yml", "yaml")
    in_process: ClassVar[bool] = False

    def __init__(self, max_values: int) -> None:
        self.max_values = max_values

    def parse(self, data: bytes, name: str) -> Parsed:
        """The values of all documents in the file; DataError for text that is not YAML, and for deep nesting."""
        refuse_other(data, name, "YAML")
        text = decode(data, name)
        records = RecordsText(name, self.max_values)
        with refusal(name, "YAML"):
            for value in _documents(text, name):
                records.add(value)
            return records.text.parsed({})


def _documents(text: str, name: str) -> list[Any]:
    import yaml

    depth = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > DEPTH:  # The C code that makes values has no limit of its own.
            raise DataError(name, f"is nested more than {DEPTH} levels deep", "flatten the file, or leave it out")
    return list(yaml.load_all(text, Loader=yaml.CSafeLoader))
