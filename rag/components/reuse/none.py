"""Every question is searched for."""

from collections.abc import Sequence
from typing import ClassVar

from rag.core.records import Vectors
from rag.core.roles.looking import Reused


class NoReuse:
    """Uses nothing again."""

    changes_nothing: ClassVar[bool] = True

    def reuse(self, question: str, vector: Vectors, earlier: Sequence[str], vectors: Vectors) -> Reused:
        """Nothing."""
        return Reused()
