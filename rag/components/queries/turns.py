"""Turns of a conversation as they were typed, the last ones or all, as in MTRAG (Katsis et al. 2025)."""

from collections.abc import Sequence
from dataclasses import dataclass

from rag.core.errors import ConfigError
from rag.core.records import Query, Sought


@dataclass(frozen=True)
class TypedTurns:
    """Searches for the last `turns` questions of the person, this one included, joined by `separator`; None takes all.

    What was answered is not searched for. One turn is the question as it was typed, and changes nothing.
    """

    turns: int | None = None
    separator: str = "\n"

    def __post_init__(self) -> None:
        if self.turns is not None and self.turns < 1:
            raise ConfigError("queries.turns", f"is {self.turns}", "1 question or more, null for all")

    @property
    def changes_nothing(self) -> bool:
        """Whether only the question itself is searched for."""
        return self.turns == 1

    def rewrite(self, queries: Sequence[Query]) -> list[Sought]:
        """The questions of every conversation as one text, in the order in which they were asked."""
        return [self._sought(query) for query in queries]

    def _sought(self, query: Query) -> Sought:
        asked = [*(turn.text for turn in query.history if turn.role == "user"), query.text]
        text = self.separator.join(asked[-self.turns :] if self.turns else asked)
        return Sought(text, (text,))
