"""The tools of a policy: searches, passages and records as the pipeline has them, so that what was measured is served."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rag.core.corpus import Corpus
from rag.core.errors import ServiceError
from rag.core.looks import Look
from rag.core.models.chat import PATIENCE, Patience
from rag.core.rankings import Rankings
from rag.core.records.queries import RecordQuery, Result
from rag.core.records.sets import RecordSet
from rag.core.roles import Reranker
from rag.core.types import Framed, Query, Sought
from rag.pipeline.context_packing import pack
from rag.pipeline.prompt_assembly import Reading
from rag.pipeline.steps import by_turns, rerank


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


def check_patience(patience: Patience, failed: str) -> None:
    """ServiceError after too many questions in a row without any reply of the model of a policy: `failed` is why, or empty."""
    if patience.ends(bool(failed)):
        what = f"no reply to {PATIENCE} questions in a row: {failed}"
        raise ServiceError("policy", what, "check the model, and try again")
