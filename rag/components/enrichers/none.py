"""No records."""

from collections.abc import Sequence
from typing import ClassVar

from rag.core.records.sets import NO_RECORDS, RecordSet
from rag.core.types import Document


class NoEnricher:
    """Makes no records."""

    changes_nothing: ClassVar[bool] = True

    def enrich(self, documents: Sequence[Document]) -> RecordSet:
        """No records."""
        return NO_RECORDS
