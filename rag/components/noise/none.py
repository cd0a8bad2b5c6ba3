"""Nothing is dropped."""

from collections.abc import Sequence
from typing import ClassVar

from rag.core.types import Document


class NoNoiseFilter:
    """Finds nothing."""

    changes_nothing: ClassVar[bool] = True

    def find(self, documents: Sequence[Document]) -> list[list[tuple[int, int, str]]]:
        """Nothing, for every document."""
        return [[] for _ in documents]
