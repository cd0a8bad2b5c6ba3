"""No memory: every question is answered as if it were the first."""

from collections.abc import Sequence
from typing import ClassVar

from rag.core.types import Query, Recalled


class NoMemory:
    """Recalls no turn and no summary."""

    changes_nothing: ClassVar[bool] = True

    def recall(self, queries: Sequence[Query]) -> list[Recalled]:
        """An empty record for every query."""
        return [Recalled() for _ in queries]
