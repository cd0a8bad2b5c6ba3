"""A chat model makes questions of one: one that stands alone, its parts, or other wordings. Their rankings are fused."""

from collections.abc import Sequence
from dataclasses import dataclass

from rag.components.queries.model_rewriter import ModelRewriter
from rag.core.checks import check_whole
from rag.core.types import Query


@dataclass(frozen=True)
class ModelQuestions(ModelRewriter):
    """Searches for each line of the reply, at most `most` of them."""

    most: int = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole("queries.most", self.most, 1)

    def texts(self, query: Query, reply: str) -> list[str]:
        """The first lines that can be questions."""
        return self.lines(query, reply)[: self.most]

    def question(self, query: Query, texts: Sequence[str]) -> str:
        """The question as typed; for a follow-up all the lines, because it may not be understood alone."""
        return " ".join(texts) if query.history else query.text
