"""The tools of a policy: searches, passages and records as the pipeline has them, so that what was measured is served."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from rag.core.corpus import Corpus
from rag.core.errors import ConfigError, ServiceError
from rag.core.looks import Look
from rag.core.models.chat import PATIENCE, Patience
from rag.core.rankings import Rankings
from rag.core.records.database import RecordDatabase
from rag.core.records.queries import RecordQuery, Result
from rag.core.records.sets import RecordSet
from rag.core.roles import READABLE, Policy, Reranker
from rag.core.types import Framed, Query, Sought
from rag.pipeline.prompt.context_packing import pack
from rag.pipeline.prompt.excerpts import Excerpts
from rag.pipeline.search.index_search import IndexSearch
from rag.pipeline.search.steps import by_turns, rerank
from rag.pipeline.search.timing import Step
from rag.pipeline.search.traces import NOTHING, Trace, Work


@dataclass(frozen=True)
class PipelineTools:
    """The tools of a policy for one question, as `rag.core.roles.looking.Tools` describes them; others than `reads` refuse."""

    work: Work
    corpus: Corpus
    indexes: IndexSearch
    reranker: Reranker
    rerank_depth: int
    excerpts: Excerpts
    database: RecordDatabase
    reads: tuple[str, ...] = READABLE

    @property
    def sought(self) -> Sought:
        """The question that can be understood alone, and its search texts."""
        return self.work.sought

    @property
    def records(self) -> RecordSet:
        """The records of the documents."""
        self._check("records")
        return self.database.records

    @property
    def k(self) -> int:
        """The number of hits in a prompt."""
        return self.excerpts.k

    def search(self, texts: Sequence[str]) -> Rankings:
        """One ranking of all texts, fused as in a single look."""
        return self.indexes.fused([Sought(texts[0], tuple(texts))], [self.work.allowed])[1]

    def rerank(self, question: str, found: Sequence[Rankings]) -> Rankings:
        """One ranking of everything that was found, against the question."""
        one = found[0] if len(found) == 1 else by_turns(found, self.indexes.depth)
        return rerank(self.reranker, [question], one, self.corpus, self.rerank_depth)

    def read(self, ranking: Rankings | None, results: Sequence[str] = ()) -> Framed:
        """The first k passages and texts of records, screened and framed."""
        self._check("passages")
        query, given, found = self.work.alone, tuple(results), NOTHING if ranking is None else ranking
        (screened,) = self.excerpts.screen([query], found, self.corpus, [Look(results=given)])
        packed = pack(screened.kept, self.corpus, self.excerpts.context_tokens)
        texts = (text for place, text in enumerate(given) if place not in screened.withheld)
        # The marks of records alone are the same for all questions, so that a server reads the beginning of a prompt once.
        asked = query if ranking is not None else Query(query.query_id, "")
        return self.excerpts.framed(asked, (*self.excerpts.quoted(packed, self.corpus), *texts))

    def query_records(self, query: RecordQuery) -> Result:
        """The result of a query."""
        self._check("records")
        return self.database.run(query)

    def _check(self, what: str) -> None:
        if what not in self.reads:
            named = ", ".join(self.reads) or "nothing"
            raise ConfigError("policy", f"reads {what}, and its attribute `reads` names {named}", f"add {what!r} to `reads`")


@dataclass(frozen=True)
class PolicyLink:
    """Lets a policy look for the passages of each question; `tools` are those for a question, without it."""

    policy: Policy
    tools: Callable[[Work], PipelineTools]
    step: Step

    def look(self, works: Sequence[Work]) -> None:
        """Set the passages of questions that are not finished, one question after the other."""
        patience = Patience(sum(1 for work in works if not (work.reuse and work.reuse.full)))
        for work in (work for work in works if not work.finished):
            with self.step("look"):
                looked = self.policy.look(work.alone, self.tools(work))
            check_patience(patience, looked.failed)
            work.note(*looked.steps, results=looked.results)
            # The rewriting of the question is paid for already.
            texts = replace(looked.sought, note=work.sought.note, tokens=work.sought.tokens, cost=work.sought.cost)
            work.trace = Trace.at(texts, looked.ranking, work.look)


def check_patience(patience: Patience, failed: str) -> None:
    """ServiceError after too many questions in a row without any reply of the model of a policy: `failed` is why, or empty."""
    if patience.ends(bool(failed)):
        what = f"no reply to {PATIENCE} questions in a row: {failed}"
        raise ServiceError("policy", what, "check the model, and try again")
