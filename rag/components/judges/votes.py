"""Votes of a chat model: each vote is asked for again while its reply is not valid."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from rag.core.assessments import Spent
from rag.core.roles import Generator
from rag.core.text.templates import fill
from rag.core.types import Message, Query, Reply, Request

Read = TypeVar("Read")


@dataclass
class VoteRequest(Generic[Read]):
    """A request for votes: its messages, the parser of a reply (ValueError for an invalid one), the votes, and their cost.

    `wrong` is the error of the last invalid reply.
    """

    messages: tuple[Message, ...]
    read: Callable[[str], Read]
    votes: list[Read] = field(default_factory=list)
    wrong: str = ""
    spent: Spent = field(default_factory=Spent)

    def count(self, reply: Reply) -> bool:
        """Count the vote in a reply; False if it must be asked for again."""
        self.spent += Spent(reply.prompt_tokens + reply.completion_tokens, reply.cost)
        if reply.failure:
            self.wrong = reply.failure
            return True  # a permanent refusal
        try:
            self.votes.append(self.read(reply.text))
        except ValueError as error:
            self.wrong = f"the reply {error}"
            return False
        return True


def ask(generator: Generator, requests: Sequence[VoteRequest[Read]], votes: int, attempts: int, again: str) -> None:
    """Ask for all votes, up to `attempts` times for each; an invalid reply is answered with `again`.

    {problem} in `again` becomes the error. A ServiceError of the generator ends the batch.
    """
    for vote in range(votes):
        waiting = [(request, request.messages) for request in requests]
        for attempt in range(attempts):
            if not waiting:
                break
            batch = [Request(Query(f"{vote}.{attempt}", ""), (), messages, sample=vote) for _, messages in waiting]
            pairs = zip(waiting, generator.generate(batch), strict=True)
            invalid = [(request, messages, reply) for (request, messages), reply in pairs if not request.count(reply)]
            waiting = [(request, (*messages, *_correction(request, reply, again))) for request, messages, reply in invalid]


def _correction(request: VoteRequest[Read], reply: Reply, again: str) -> tuple[Message, Message]:
    return Message("assistant", reply.text), Message("user", fill(again, {"problem": request.wrong}))
