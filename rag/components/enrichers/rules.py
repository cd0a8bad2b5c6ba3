"""One record per document, whose fields come from metadata, headings and patterns."""

from collections.abc import Mapping, Sequence
from typing import Any

from rag.components.enrichers.fields import declared, drafts, records_of
from rag.core.records.sets import RecordSet
from rag.core.types import Document


class RulesEnricher:
    """Fills declared fields without a model.

    `fields` are mappings with `name`, `type`, `description`, `allowed`, `unit` and `source`. A source is `{metadata: key}`, or
    `{pattern: …, in: …}` with one group of RE2 in a part of the document (`PARTS`), or a `value`, alone or for documents that
    have the pattern, or as many `keywords` of the document. The first source with a value that fits the field fills it.
    `source: roster` leaves it to a roster. `table` and `title` name the table for people and for questions.
    """

    def __init__(self, fields: Sequence[Mapping[str, Any]], table: str = "documents", title: str = "") -> None:
        self.fields, self.table, self.title = declared(fields), table, title

    def enrich(self, documents: Sequence[Document]) -> RecordSet:
        """One record per document, in their order; its id is that of the document."""
        return records_of(drafts(documents, self.fields), self.fields, self.table, self.title)
