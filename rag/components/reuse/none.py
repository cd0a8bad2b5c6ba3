"""Every question is searched for."""

from collections.abc import Sequence
from typing import ClassVar

from rag.core.roles.looking import Reused
from rag.core.types import Vectors


class NoReuse:
    """Uses nothing again."""

    changes_nothing: ClassVar[bool] = True

    def reuse(self, question: str, vector: Vectors, earlier: Sequence[str], vectors: Vectors) -> Reused:
        """Nothing."""
        return Reused()
