"""No answers, for experiments that measure retrieval only."""

from collections.abc import Iterator, Sequence
from typing import ClassVar

from rag.core.types import Reply, Request


class NoGenerator:
    """Replies with empty text to everything, at no cost."""

    changes_nothing: ClassVar[bool] = True

    def generate(self, requests: Sequence[Request]) -> list[Reply]:
        """One empty reply per request."""
        return [Reply("") for _ in requests]

    def stream(self, request: Request) -> Iterator[str]:
        """No pieces."""
        return iter(())
