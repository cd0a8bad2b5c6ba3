"""A chat model rewrites a follow-up so that it can be understood alone."""

from collections.abc import Sequence
from dataclasses import dataclass

from rag.components.queries.model_rewriter import Asking, as_typed
from rag.core.models.chat import Given, spent
from rag.core.records import Query, Sought


@dataclass(frozen=True)
class ModelRewrite(Asking):
    """Searches for the first line of the model's reply; the first question of a conversation is never sent.

    A line of fewer than three characters, or of more than `longest`, is no question: then the question is searched for as it
    was typed, and the note says why. With `beside` the question as typed is searched for too, and both rankings are fused.
    """

    beside: bool = False

    def rewrite(self, queries: Sequence[Query]) -> list[Sought]:
        """What the model made of each follow-up."""
        replies = iter(self.replies([query for query in queries if query.history]))
        return [self._sought(query, next(replies)) if query.history else as_typed(query) for query in queries]

    def _sought(self, query: Query, reply: Given) -> Sought:
        lines = self.lines(query, reply)[:1]
        if not lines:
            return as_typed(query, reply)
        texts = dict.fromkeys([query.text, *lines] if self.beside else lines)
        return Sought(lines[0], tuple(texts), "", *spent(reply))
