"""The reference answer itself, for what answers could score at best."""

from collections.abc import Iterator, Sequence
from typing import ClassVar

from rag.core.records import Reply, Request


class GoldGenerator:
    """Replies with the first reference answer, word for word; an empty reply where a question has none.

    It reads no context, cites none, and is no pipeline that could be served: a question that somebody types has no reference.
    """

    reads_gold: ClassVar[bool] = True

    def generate(self, requests: Sequence[Request]) -> list[Reply]:
        """One reference per request."""
        return [Reply(request.references[0] if request.references else "") for request in requests]

    def stream(self, request: Request) -> Iterator[str]:
        """The reference in one piece."""
        yield from filter(None, request.references[:1])
