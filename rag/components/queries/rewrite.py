"""A chat model rewrites a follow-up so that it can be understood alone."""

from collections.abc import Sequence
from dataclasses import dataclass

from rag.components.queries.model_rewriter import ModelRewriter
from rag.core.types import Query


@dataclass(frozen=True)
class ModelRewrite(ModelRewriter):
    """Searches for the first line of the reply; the model is not asked about the first question of a conversation."""

    def rewrites(self, query: Query) -> bool:
        """True for a follow-up."""
        return bool(query.history)

    def texts(self, query: Query, reply: str) -> list[str]:
        """The first line that can be a question."""
        return self.lines(query, reply)[:1]

    def question(self, query: Query, texts: Sequence[str]) -> str:
        """The rewritten question."""
        return texts[0]
