"""Turns of a conversation as they were typed, the last ones or all, as in MTRAG (Katsis et al. 2025)."""

from collections.abc import Sequence
from dataclasses import dataclass

from rag.core.checks import check_whole
from rag.core.types import Query, Sought


@dataclass(frozen=True)
class TypedTurns:
    """Searches for the last `turns` questions of the user, this one included, joined by `separator`; None takes all.

    Answers are not searched for. With `turns` = 1 the question is searched for as it was typed.
    """

    turns: int | None = None
    separator: str = "\n"

    def __post_init__(self) -> None:
        if self.turns is not None:
            check_whole("queries.turns", self.turns, 1, hint="null for all")

    @property
    def changes_nothing(self) -> bool:
        """True if the question alone is searched for, as typed."""
        return self.turns == 1

    def rewrite(self, queries: Sequence[Query]) -> list[Sought]:
        """The questions of every conversation as one text, oldest first."""
        return [self._sought(query) for query in queries]

    def _sought(self, query: Query) -> Sought:
        asked = [*(turn.text for turn in query.history if turn.role == "user"), query.text]
        text = self.separator.join(asked[-self.turns :] if self.turns else asked)
        return Sought(text, (text,))
