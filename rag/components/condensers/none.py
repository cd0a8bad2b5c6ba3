"""Passages as they were found."""

from collections.abc import Sequence
from typing import ClassVar

from rag.core.roles.looking import Condensation, Kept


class NoCondenser:
    """Condenses nothing."""

    changes_nothing: ClassVar[bool] = True
    reads: ClassVar[tuple[str, ...]] = ()

    def condense(self, kept: Sequence[Kept]) -> list[Condensation]:
        """Nothing for each question."""
        return [Condensation(None, "nothing condenses") for _ in kept]
