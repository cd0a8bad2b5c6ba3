"""The trail of a policy: its searches, queries of records and requests to a model, with a step for each."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from rag.core.looks import Act, LookStep
from rag.core.models.chat import CHARACTERS, Given, ask, spent
from rag.core.rankings import Rankings
from rag.core.roles import Generator
from rag.core.roles.looking import Looked, Tools
from rag.core.types import Framed, Request, Sought

SHOWN = 300
"""The most characters of a text in a step."""


@dataclass(frozen=True)
class Asked:
    """A reply of a model: its text, or why there is none; what it took."""

    text: str = ""
    failure: str = ""
    tokens: int = 0
    cost: float = 0.0
    seconds: float = 0.0


class Trail:
    """Uses the tools of one question, and keeps rankings and steps; `limit` is the most tokens of models, None for no limit.

    `stopped` is why the model is not asked again, empty while it is.
    """

    def __init__(self, tools: Tools, limit: int | None = None) -> None:
        self.tools, self.limit, self.stopped = tools, limit, ""
        self.steps, self.found, self.results = list[LookStep](), list[Rankings](), list[str]()
        self._texts, self._seen = list[str](), set[int]()
        self._tokens = self._replies = 0
        self._failure = ""

    def search(self, texts: Sequence[str]) -> Rankings:
        """Search for texts together; the step has the first k passages."""
        began = time.perf_counter()
        ranking = self.tools.search(texts)
        first = [position for position, _ in ranking.first(self.tools.k).row(0)]
        new = [position for position in first if position not in self._seen]
        self._seen.update(first)
        self.found.append(ranking)
        self._texts += texts
        names = tuple(chunk.chunk_id for chunk in self.tools.corpus.chunks(first))
        observed = f"{len(first)} passages, {len(new)} new" if first else "nothing"
        seconds = time.perf_counter() - began
        self.steps.append(LookStep("search", " | ".join(texts)[:SHOWN], observed, names, seconds=seconds))
        return ranking

    def note(self, act: Act, given: str, observed: str = "", failure: str = "", asked: Asked | None = None) -> None:
        """Keep a step that is no search, with what its request took."""
        took = asked or Asked()
        step = LookStep(act, given.strip()[:SHOWN], observed[:SHOWN], (), failure[:SHOWN], took.tokens, took.cost, took.seconds)
        self.steps.append(step)

    def ask(self, generator: Generator, request: Request) -> Asked:
        """The reply, or why there is none; a request that does not fit into the limit is not sent, and stops the asking."""
        expected = sum(len(message.content) for message in request.messages) // CHARACTERS
        if self.limit is not None and self._tokens + expected > self.limit:
            self.stopped = f"the next request does not fit into {self.limit} tokens, of which {self._tokens} are spent"
            return Asked(failure=self.stopped)
        began = time.perf_counter()
        (given,) = ask(generator, [request])
        tokens, cost = spent(given)
        self._tokens += tokens or expected
        failure = _failure(given)
        self._replies += not failure
        self._failure = failure or self._failure
        return Asked("" if isinstance(given, str) else given.text, failure, tokens, cost, time.perf_counter() - began)

    def looked(self) -> Looked:
        """Everything that was found as one ranking against the question."""
        sought = self.tools.sought
        ranking = self.tools.rerank(sought.question, self.found)
        texts = tuple(dict.fromkeys(self._texts))
        failed = "" if self._replies else self._failure
        return Looked(ranking, Sought(sought.question, texts), tuple(self.results), tuple(self.steps), failed)


def _failure(given: Given) -> str:
    if isinstance(given, str):
        return given
    return "" if given.text.strip() else "an empty reply"


def within(framed: Framed, characters: int) -> str:
    """Framed passages as one text: as many whole ones as fit, at least the first; empty without any."""
    kept, room = list[str](), characters
    for text in framed.contexts:
        room -= len(text)
        if kept and room < 0:
            break
        kept.append(text)
    return "\n\n".join(filter(None, (framed.before, *kept, framed.after))) if kept else ""
