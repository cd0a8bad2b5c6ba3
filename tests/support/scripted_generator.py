"""A generator without a server that says, of every request, what a function says."""

from collections.abc import Callable, Iterator, Sequence

from rag.core.types import Reply, Request


class Scripted:
    """Replies to every request as a function says; the requests are kept."""

    def __init__(self, reply: Callable[[Request], Reply]) -> None:
        self.reply, self.requests = reply, list[Request]()

    def generate(self, requests: Sequence[Request]) -> list[Reply]:
        self.requests += requests
        return [self.reply(request) for request in requests]

    def stream(self, request: Request) -> Iterator[str]:
        yield self.reply(request).text


def in_turn(*replies: str | Exception, tokens: tuple[int, int] = (0, 0), cost: float = 0.0) -> Callable[[Request], Reply]:
    """These texts one after the other, each with its tokens of prompt and reply and its cost; errors are raised."""
    left = list(replies)

    def reply(request: Request) -> Reply:
        said = left.pop(0)
        if isinstance(said, Exception):
            raise said
        return Reply(said, (), *tokens, cost)

    return reply


def raising(error: Exception) -> Callable[[Request], Reply]:
    """What never replies."""

    def reply(request: Request) -> Reply:
        raise error

    return reply


class Costly:
    """A generator whose replies are stored, without a model."""

    costly = True

    def generate(self, requests: Sequence[Request]) -> list[Reply]:
        return [Reply("Free [1].") for _ in requests]

    def stream(self, request: Request) -> Iterator[str]:
        yield "Free [1]."
