"""Answers by another way than one search: records, passages of the documents that records name, and policies."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rag.core.corpus import Corpus
from rag.core.rankings import Rankings
from rag.core.record_queries import RecordQuery, Result
from rag.core.record_sets import RecordSet


@dataclass(frozen=True)
class PipelineTools:
    """The tools of a policy for one question, as `rag.core.roles.looking.Tools` describes them."""

    corpus: Corpus
    records: RecordSet
    k: int
    searching: Callable[[Sequence[str]], Rankings]
    reranking: Callable[[str, Sequence[Rankings]], Rankings]
    reading: Callable[[Rankings], tuple[str, ...]]
    asking: Callable[[RecordQuery], Result]

    def search(self, texts: Sequence[str]) -> Rankings:
        """One ranking of all texts, fused as in a single look, not reranked."""
        return self.searching(texts)

    def rerank(self, question: str, found: Sequence[Rankings]) -> Rankings:
        """One ranking of everything that was found, against the question."""
        return self.reranking(question, found)

    def read(self, ranking: Rankings) -> tuple[str, ...]:
        """The first k passages, screened and framed."""
        return self.reading(ranking)

    def query_records(self, query: RecordQuery) -> Result:
        """The result of a query of records."""
        return self.asking(query)
