"""The last turns, as they were said."""

from collections.abc import Sequence
from dataclasses import dataclass

from rag.core.errors import ConfigError
from rag.core.records import Query, Recalled


@dataclass(frozen=True)
class BufferMemory:
    """Recalls the last `turns` messages of both sides; None recalls all."""

    turns: int | None = 8

    def __post_init__(self) -> None:
        if self.turns is not None and self.turns < 1:
            raise ConfigError("memory.turns", f"is {self.turns}", "1 message or more, null for all, or memory=none")

    def recall(self, queries: Sequence[Query]) -> list[Recalled]:
        """The end of every history."""
        return [Recalled(query.history[-self.turns :] if self.turns else query.history) for query in queries]
