"""Asking a chat model for judgements that can be read: several votes, and once more where a reply cannot be read."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from rag.core.assessments import Spent
from rag.core.records import Message, Query, Reply, Request
from rag.core.roles import Generator

Read = TypeVar("Read")


@dataclass
class VoteRequest(Generic[Read]):
    """Something to ask: how a reply is read (ValueError says what is wrong with it), the votes, and what they took.

    `wrong` is what was wrong with the last reply that could not be read.
    """

    messages: tuple[Message, ...]
    read: Callable[[str], Read]
    votes: list[Read] = field(default_factory=list)
    wrong: str = ""
    spent: Spent = field(default_factory=Spent)

    def hear(self, reply: Reply) -> bool:
        """Take a vote from a reply; False where it should be asked for again."""
        self.spent += Spent(reply.prompt_tokens + reply.completion_tokens, reply.cost)
        if reply.failure:
            self.wrong = reply.failure
            return True  # It was refused for good.
        try:
            self.votes.append(self.read(reply.text))
        except ValueError as error:
            self.wrong = f"the reply {error}"
            return False
        return True


def ask(generator: Generator, asked: Sequence[VoteRequest[Read]], votes: int, attempts: int, again: str) -> None:
    """Ask for all votes, and up to `attempts` times for each: a reply that cannot be read is answered with `again`.

    {problem} in `again` becomes what was wrong. A ServiceError of the generator ends the batch.
    """
    for vote in range(votes):
        waiting = [(one, one.messages) for one in asked]
        for attempt in range(attempts):
            if not waiting:
                break
            requests = [Request(Query(f"{vote}.{attempt}", ""), (), messages, sample=vote) for _, messages in waiting]
            pairs = zip(waiting, generator.generate(requests), strict=True)
            unread = [(one, messages, reply) for (one, messages), reply in pairs if not one.hear(reply)]
            waiting = [(one, (*messages, *_told(one, reply, again))) for one, messages, reply in unread]


def _told(one: VoteRequest[Read], reply: Reply, again: str) -> tuple[Message, Message]:
    return Message("assistant", reply.text), Message("user", again.replace("{problem}", one.wrong))
