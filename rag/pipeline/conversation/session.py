"""A conversation with a pipeline: its questions and answers, and the history for the next question."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, cast

from rag.core.types import Answer, Found, Message, Query, Ranking, Turn
from rag.pipeline.conversation.live_history import remembered_turn
from rag.pipeline.pipeline import Pipeline, Trace
from rag.pipeline.search.locked_files import limited
from rag.pipeline.search.steps import embed_queries


@dataclass(frozen=True)
class Draft:
    """A question that was searched for; `edited` messages replace those of its prompt."""

    query: Query
    trace: Trace
    edited: tuple[Message, ...] = ()


@dataclass(frozen=True)
class Exchange:
    """An answered question, with the trace of its passages; `at` is in seconds since 1970."""

    trace: Trace
    answer: Answer
    at: float

    @property
    def question(self) -> str:
        """The question as typed."""
        return self.answer.query.text

    @property
    def turns(self) -> tuple[Turn, ...]:
        """Question and answer as a later question reads them; none for a pleasantry."""
        return remembered_turn(self.question, self.answer, self.at)

    @property
    def about(self) -> str:
        """Time, tag and source of its turns."""
        known = [part for turn in self.turns[1:] for part in (turn.tag, turn.source) if part]
        return " · ".join([datetime.fromtimestamp(self.at).isoformat(" ", "seconds"), *known])


@dataclass
class Session:
    """Questions in order; each sees the earlier answers through `queries` and `memory` of the pipeline."""

    pipeline: Pipeline
    exchanges: list[Exchange] = field(default_factory=list)
    found: tuple[Found, ...] = ()

    def __post_init__(self) -> None:
        self._given = self.pipeline

    def limit(self, lock: Sequence[str] = (), exclude: Sequence[str] = (), off: Sequence[str] = ()) -> None:
        """Read only the files of `lock` and none of `exclude` from now on, without the agents of `off`.

        All are within what the config allows; empty ones give back all of it. Nothing is used again that was found before.
        UserError for a document or an agent that does not exist.
        """
        self.pipeline, self.found = limited(self._given.without(off), lock, exclude), ()

    def tell(self, project: str) -> None:
        """Take another text about the project; `limit` applies it."""
        reading, prompt = self._given.reading, cast(Any, self._given.reading.prompt)
        self._given = replace(self._given, reading=replace(reading, prompt=replace(prompt, project=project)))

    @property
    def history(self) -> tuple[Turn, ...]:
        """The turns before the next question."""
        return tuple(turn for each in self.exchanges for turn in each.turns)

    def make_ready(self) -> None:
        """Load the model that the first question would otherwise wait for."""
        if any(self.pipeline.uses_vectors.values()):
            embed_queries(self.pipeline.embedder, [""])

    def draft(self, question: str) -> Draft:
        """Search for a question, and ask no model for an answer; `ask` answers it if nothing is asked before."""
        query = Query(f"turn {len(self.exchanges) + 1}", question, self.history, earlier=self.found)
        return Draft(query, self.pipeline.trace_to_answer(query))

    def ask(
        self, question: str | Draft, hear: Callable[[str], None] | None = None, read: Callable[[Ranking], None] | None = None
    ) -> Exchange:
        """Answer a question; `read` gets the passages for it, `hear` then the answer in pieces as they come.

        The answer may differ from its joined pieces: a model may begin it again, and markers without a passage are removed.
        Pieces are empty while the model writes hidden text. A question is remembered when its answer is complete: Ctrl-C or a
        failing service leaves the conversation as it was.
        """
        draft = self.draft(question) if isinstance(question, str) else question
        answer = self.pipeline.answer_from(draft.query, draft.trace, hear, early=True, read=read, edited=draft.edited)
        exchange = Exchange(draft.trace, answer, time.time())
        self.exchanges.append(exchange)
        self.found = self.pipeline.earlier(draft.query, draft.trace)
        return exchange

    def reset(self) -> None:
        """Forget everything."""
        self.exchanges.clear()
        self.found = ()
