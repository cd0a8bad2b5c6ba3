"""No roster."""

from typing import ClassVar

from rag.core.records.sets import RecordSet


class NoRoster:
    """Leaves records as they are."""

    changes_nothing: ClassVar[bool] = True

    def join(self, records: RecordSet) -> RecordSet:
        """The same records."""
        return records
