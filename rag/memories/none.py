"""No memory: every question is searched for as if it were the first."""

from collections.abc import Sequence
from typing import ClassVar

from rag.records import Query


class NoMemory:
    """Searches for the question as it was typed; earlier turns are not read."""

    changes_nothing: ClassVar[bool] = True

    def contextualize(self, queries: Sequence[Query]) -> list[str]:
        """The text of every query."""
        return [query.text for query in queries]
