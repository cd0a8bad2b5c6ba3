"""No other system: the components of the trial search and answer."""

from collections.abc import Sequence
from typing import ClassVar

from rag.core.systems import SystemReply
from rag.core.types import Query


class NoSystem:
    """Is never asked."""

    changes_nothing: ClassVar[bool] = True

    def answer(self, queries: Sequence[Query]) -> list[SystemReply]:
        """Nothing for each question."""
        return [SystemReply() for _ in queries]
