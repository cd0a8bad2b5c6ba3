"""Questions as they were typed, without rewriting."""

from collections.abc import Sequence
from typing import ClassVar

from rag.core.types import Query, Sought


class AsTyped:
    """Searches for every question as it was typed, without its history."""

    changes_nothing: ClassVar[bool] = True

    def rewrite(self, queries: Sequence[Query]) -> list[Sought]:
        """The text of every query."""
        return [Sought(query.text, (query.text,)) for query in queries]
