"""Asking a chat model for something that can be done without: where it fails, it is said what kept it from replying."""

from collections.abc import Sequence

from rag.core.errors import ConfigError, MissingExtraError, RefusalError, StoreError
from rag.core.records import Reply, Request
from rag.core.roles import Generator

PATIENCE = 3
"""Failures in a row that are chance; after so many in a longer batch it is the server that fails.

A person asks one question at a time and always gets a search. Of a longer batch in which the server failed no result is made:
kept, it would be taken for what the model can do. What was answered before is stored, so that another run goes on from there.
"""

Given = Reply | str
"""A reply, or what kept it from being given."""


def spent(reply: Given) -> tuple[int, float]:
    """Tokens and US dollars; what failed is not billed, as far as is known."""
    return (0, 0.0) if isinstance(reply, str) else (reply.prompt_tokens + reply.completion_tokens, reply.cost)


def ask(generator: Generator, requests: Sequence[Request]) -> list[Given]:
    """One reply per request, or what kept it from being given.

    A config that cannot work, a budget that is spent and a reply that was to be replayed are errors all the same. In a batch of
    more than PATIENCE requests so is what fails PATIENCE in a row, and what keeps all of them from being answered.
    """
    if not requests:
        return []
    try:
        replies = _whole(generator.generate(requests), len(requests))
    except (ConfigError, MissingExtraError, StoreError):
        raise
    except Exception as error:  # Whatever a generator raises, there is another way to go on.
        return [_reason(error)] if len(requests) == 1 else _one_by_one(generator, requests, error)
    found: list[Given] = [reply.failure or reply for reply in replies]
    if _nobody(found):
        raise RefusalError.of(replies[0].failure)
    return found


def _nobody(found: Sequence[Given]) -> bool:
    """Whether a batch got no reply at all, and is too long for that to be chance."""
    return len(found) > PATIENCE and all(isinstance(one, str) for one in found)


def _one_by_one(generator: Generator, requests: Sequence[Request], error: Exception) -> list[Given]:
    found: list[Given] = []
    for request in requests:
        found += ask(generator, [request])
        failed = len(found) >= PATIENCE and all(isinstance(one, str) for one in found[-PATIENCE:])
        if failed and len(requests) > PATIENCE:
            raise error
    return found


def _whole(replies: Sequence[Reply], expected: int) -> Sequence[Reply]:
    if len(replies) != expected:
        raise ValueError(f"{len(replies)} replies to {expected} requests")
    return replies


def _reason(error: Exception) -> str:
    return str(getattr(error, "what", "") or error or type(error).__name__)[:200]
