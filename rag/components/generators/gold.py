"""The reference answer itself: the upper bound of answer metrics."""

from collections.abc import Iterator, Sequence
from typing import ClassVar

from rag.core.types import Reply, Request


class GoldGenerator:
    """Replies with the first reference answer, word for word; with an empty text if a question has none.

    It reads no context and cites none. It cannot be served, because typed questions have no reference.
    """

    reads_gold: ClassVar[bool] = True

    def generate(self, requests: Sequence[Request]) -> list[Reply]:
        """One reference per request."""
        return [Reply(request.references[0] if request.references else "") for request in requests]

    def stream(self, request: Request) -> Iterator[str]:
        """The reference in one piece."""
        yield from filter(None, request.references[:1])
