"""The last turns, word for word."""

from collections.abc import Sequence
from dataclasses import dataclass

from rag.core.checks import check_whole
from rag.core.types import Query, Recalled


@dataclass(frozen=True)
class BufferMemory:
    """Recalls the last `turns` messages of user and assistant; None recalls all."""

    turns: int | None = 8

    def __post_init__(self) -> None:
        if self.turns is not None:
            check_whole("memory.turns", self.turns, 1, hint="null for all, or memory=none")

    def recall(self, queries: Sequence[Query]) -> list[Recalled]:
        """The end of every history."""
        return [Recalled(query.history[-self.turns :] if self.turns else query.history) for query in queries]
