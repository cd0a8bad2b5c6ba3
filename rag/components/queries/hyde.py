"""Hypothetical document embeddings: a chat model writes a passage that would answer the question (Gao et al. 2023)."""

from dataclasses import dataclass

from rag.components.queries.model_rewriter import FENCES, SHORTEST, ModelRewriter
from rag.core.types import Query


@dataclass(frozen=True)
class HypotheticalPassage(ModelRewriter):
    """Searches for the reply of the model, cut to `longest` characters at a blank.

    Passages are reranked by the question: the invented passage is like an answer and is none.
    """

    longest: int = 1000
    include_original: bool = True

    def texts(self, query: Query, reply: str) -> list[str]:
        """The passage on one line."""
        text = self.bare(" ".join(FENCES.sub("", reply).split()))
        if len(text) > self.longest:
            text = text[: self.longest + 1].rpartition(" ")[0] or text[: self.longest]
        return [text] if len(text) >= SHORTEST else []
