"""A chat model invents a passage that would answer the question, and passages like it are searched for (Gao et al., 2023)."""

from collections.abc import Sequence
from dataclasses import dataclass

from rag.components.queries.model_rewriter import FENCES, SHORTEST, Asking, as_typed
from rag.core.models.chat import Given, spent
from rag.core.records import Query, Sought


@dataclass(frozen=True)
class HypotheticalPassage(Asking):
    """Searches for the model's reply, cut to `longest` characters at a blank; with `beside` for the question as typed too.

    Passages are reranked by the question: what was invented is like an answer and is none. An empty reply leaves the question
    as it was typed, with a note.
    """

    longest: int = 1000
    beside: bool = True

    def rewrite(self, queries: Sequence[Query]) -> list[Sought]:
        """What the model made of each question."""
        rows = zip(queries, self.replies(queries), strict=True)
        return [self._sought(query, reply) for query, reply in rows]

    def _sought(self, query: Query, reply: Given) -> Sought:
        text = "" if isinstance(reply, str) else self.bare(" ".join(FENCES.sub("", reply.text).split()))
        if len(text) > self.longest:
            text = text[: self.longest + 1].rpartition(" ")[0] or text[: self.longest]
        if len(text) < SHORTEST:
            return as_typed(query, reply)
        return Sought(query.text, tuple(dict.fromkeys([query.text, text] if self.beside else [text])), "", *spent(reply))
