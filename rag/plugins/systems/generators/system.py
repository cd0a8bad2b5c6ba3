"""The replies of a system outside of Assay."""

from collections.abc import Iterator, Sequence
from typing import ClassVar

from rag.core.types import Reply, Request


class SystemReplies:
    """Stands for the answers that `system` gave with its passages. A check that asks for another reply gets none."""

    reads_system: ClassVar[bool] = True

    def generate(self, requests: Sequence[Request]) -> list[Reply]:
        """A failure for each request: a system answers a question once."""
        return [Reply("", failure="the system answers once") for _ in requests]

    def stream(self, request: Request) -> Iterator[str]:
        """Nothing."""
        yield from ()
