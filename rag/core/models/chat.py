"""Calls of a chat model with a fallback: a failed call gives the reason instead of a reply."""

from collections.abc import Sequence
from dataclasses import dataclass

from rag.core.errors import ConfigError, MissingExtraError, RefusalError, StoreError
from rag.core.roles import Generator
from rag.core.types import Reply, Request

CHARACTERS = 4
"""Assumed characters of a token where tokens are not counted."""

PATIENCE = 3
"""After so many failures in a row in a longer batch, the server has failed.

A single question of a person always gets a search. A longer batch during which the server failed gives no result: it would be
stored as the quality of the model. Earlier replies are stored, so that another run continues there.
"""


@dataclass
class Patience:
    """Counts failures in a row in a batch of `size` calls."""

    size: int
    failed: int = 0

    def ends(self, is_failure: bool) -> bool:
        """Count a call; True at the last of PATIENCE failures in a row, in a longer batch."""
        self.failed = self.failed + 1 if is_failure else 0
        return self.size > PATIENCE <= self.failed


Given = Reply | str
"""A reply, or the reason why there is none."""


def spent(reply: Given) -> tuple[int, float]:
    """Tokens and US dollars; a failed call counts as free."""
    return (0, 0.0) if isinstance(reply, str) else (reply.prompt_tokens + reply.completion_tokens, reply.cost)


def ask(generator: Generator, requests: Sequence[Request]) -> list[Given]:
    """One reply per request, or the reason why there is none.

    An invalid config, a spent budget and a missing stored reply are raised. In a batch of more than PATIENCE requests, PATIENCE
    failures in a row and the failure of all requests are raised too.
    """
    if not requests:
        return []
    try:
        replies = generator.generate(requests)
        if len(replies) != len(requests):
            raise ValueError(f"{len(replies)} replies to {len(requests)} requests")
    except (ConfigError, MissingExtraError, StoreError):
        raise
    except Exception as error:  # A generator may raise anything, and the caller has a fallback.
        return [_reason(error)] if len(requests) == 1 else _one_by_one(generator, requests, error)
    if len(requests) > PATIENCE and all(reply.failure for reply in replies):
        raise RefusalError.of(replies[0].failure)
    return [reply.failure or reply for reply in replies]


def _one_by_one(generator: Generator, requests: Sequence[Request], error: Exception) -> list[Given]:
    outcomes, patience = list[Given](), Patience(len(requests))
    for request in requests:
        outcomes += ask(generator, [request])
        if patience.ends(isinstance(outcomes[-1], str)):
            raise error
    return outcomes


def _reason(error: Exception) -> str:
    return str(getattr(error, "what", "") or error or type(error).__name__)[:200]
