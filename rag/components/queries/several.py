"""A chat model makes several questions of one: its parts, or other wordings of it. Their rankings are fused."""

from collections.abc import Sequence
from dataclasses import dataclass

from rag.components.queries.model_rewriter import Asking, as_typed
from rag.core.errors import ConfigError
from rag.core.models.chat import Given, spent
from rag.core.records import Query, Sought


@dataclass(frozen=True)
class ModelQuestions(Asking):
    """Searches for each line of the model's reply, at most `most` of them; with `beside` for the question as typed too.

    Passages are reranked by the question as typed, and by all the lines where it stands in a conversation and may not be
    understood without them. A reply without a line that can be a question leaves the question as it was typed, with a note.
    """

    most: int = 3
    beside: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.most < 1:
            raise ConfigError("queries.most", f"is {self.most}", "1 question or more")

    def rewrite(self, queries: Sequence[Query]) -> list[Sought]:
        """What the model made of each question."""
        rows = zip(queries, self.replies(queries), strict=True)
        return [self._sought(query, reply) for query, reply in rows]

    def _sought(self, query: Query, reply: Given) -> Sought:
        lines = self.lines(query, reply)[: self.most]
        if not lines:
            return as_typed(query, reply)
        texts = dict.fromkeys([query.text, *lines] if self.beside else lines)
        return Sought(" ".join(lines) if query.history else query.text, tuple(texts), "", *spent(reply))
