"""A conversation with a pipeline, without a terminal: what was asked and answered, and what a later question sees of it."""

from collections.abc import Callable
from dataclasses import dataclass, field

from rag.core.records import Answer, Query, Ranking, Turn
from rag.pipeline.live_history import remembered_turn
from rag.pipeline.pipeline import Pipeline, Trace
from rag.pipeline.steps import embed_queries


@dataclass(frozen=True)
class Exchange:
    """A question that was answered, and where the passages of its answer came from."""

    trace: Trace
    answer: Answer

    @property
    def question(self) -> str:
        """The person's own words."""
        return self.answer.query.text


@dataclass
class Session:
    """Questions one after the other; each sees the answers before it, through `queries` and `memory` of the pipeline."""

    pipeline: Pipeline
    exchanges: list[Exchange] = field(default_factory=list)

    @property
    def history(self) -> tuple[Turn, ...]:
        """What the next question sees."""
        return tuple(turn for one in self.exchanges for turn in remembered_turn(one.question, one.answer))

    def make_ready(self) -> None:
        """Load what the first question would otherwise wait for."""
        if any(self.pipeline.uses_vectors.values()):
            embed_queries(self.pipeline.embedder, [""])

    def ask(
        self,
        question: str,
        hear: Callable[[str], None] | None = None,
        read: Callable[[Ranking], None] | None = None,
    ) -> Exchange:
        """Answer a question; `read` gets the passages for it, `hear` then the answer in pieces as they come.

        The answer may differ from its pieces, joined: a model may begin it again, and markers that cite nothing are dropped.
        Pieces are empty while the model writes what is not shown.
        It is remembered when it is answered to the end: whatever breaks off before, Ctrl-C or a service that fails, leaves the
        conversation as it was.
        """
        query = Query(f"turn {len(self.exchanges) + 1}", question, self.history)
        trace = self.pipeline.trace(query)
        exchange = Exchange(trace, self.pipeline.answer_from(query, trace, hear, early=True, read=read))
        self.exchanges.append(exchange)
        return exchange

    def reset(self) -> None:
        """Forget everything."""
        self.exchanges.clear()
