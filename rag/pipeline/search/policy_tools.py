"""The tools of a policy: searches, passages and records as the pipeline has them, so that what was measured is served."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rag.core.corpus import Corpus
from rag.core.errors import ServiceError
from rag.core.looks import Look
from rag.core.rankings import Rankings
from rag.core.record_queries import RecordQuery, Result
from rag.core.record_sets import RecordSet
from rag.core.records import Framed, Query, Sought
from rag.core.roles import Reranker
from rag.pipeline.prompt.context_packing import pack
from rag.pipeline.prompt.prompt_assembly import Reading
from rag.pipeline.search.steps import by_turns, rerank

PATIENCE = 3
"""After so many questions in a row without any reply of the model, a longer batch ends: its results would be stored."""


@dataclass(frozen=True)
class PipelineTools:
    """The tools of a policy for one question, as `rag.core.roles.looking.Tools` describes them."""

    query: Query
    sought: Sought
    corpus: Corpus
    records: RecordSet
    reading: Reading
    reranker: Reranker
    depth: int
    rerank_depth: int
    search: Callable[[Sequence[str]], Rankings]
    query_records: Callable[[RecordQuery], Result]

    @property
    def k(self) -> int:
        """The number of hits in a prompt."""
        return self.reading.k

    def rerank(self, question: str, found: Sequence[Rankings]) -> Rankings:
        """One ranking of everything that was found, against the question."""
        one = found[0] if len(found) == 1 else by_turns(found, self.depth)
        return rerank(self.reranker, [question], one, self.corpus, self.rerank_depth)

    def read(self, ranking: Rankings | None, results: Sequence[str] = ()) -> Framed:
        """The first k passages and texts of records, screened and framed."""
        reading, given = self.reading, tuple(results)
        found = Rankings.pack([[]]) if ranking is None else ranking
        (screened,) = reading.screen([self.query], found, self.corpus, [Look(results=given)])
        passages = reading.quoted(pack(screened.kept, self.corpus, reading.context_tokens), self.corpus)
        texts = (text for place, text in enumerate(given) if place not in screened.withheld)
        return reading.framed(self.query, (*passages, *texts))


@dataclass
class Patience:
    """Counts questions in a row without any reply of the model of a policy; `questions` is the length of the batch."""

    questions: int
    failed: int = 0

    def check(self, failed: str) -> None:
        """ServiceError at the last of PATIENCE failures in a row, in a longer batch; `failed` is empty for a success."""
        self.failed = self.failed + 1 if failed else 0
        if self.questions > PATIENCE <= self.failed:
            raise ServiceError(
                "policy", f"no reply to {PATIENCE} questions in a row: {failed}", "check the model, and try again"
            )
