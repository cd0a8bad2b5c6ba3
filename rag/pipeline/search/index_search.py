"""Search texts → one ranking: embed, search every index, fuse, rerank and select."""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace

from rag.core.corpus import Corpus
from rag.core.rankings import Rankings, stacked
from rag.core.roles import Embedder, Fusion, QuestionSelector, Reranker, Searcher, Selector
from rag.core.types import Allowed, Sought
from rag.pipeline.search.steps import embed_queries, fuse, rerank, searched, select
from rag.pipeline.search.timing import Step
from rag.pipeline.search.traces import Work, traced


def untimed(name: str) -> nullcontext[None]:
    """A step that is not timed."""
    return nullcontext()


@dataclass(frozen=True)
class IndexSearch:
    """Opened indexes, searched together to `depth`."""

    searchers: Mapping[str, Searcher]
    uses_vectors: Mapping[str, bool]
    embedder: Embedder
    fusion: Fusion
    depth: int

    def fused(
        self, sought: Sequence[Sought], allowed: Sequence[Allowed | None], step: Step = untimed
    ) -> tuple[dict[str, Rankings], Rankings]:
        """The rankings of each index, and the one that they are fused to; a question finds only chunks that `allowed` flags."""
        texts = [text for each in sought for text in each.texts]
        with step("embed"):
            vectors = embed_queries(self.embedder, texts) if any(self.uses_vectors.values()) else None
        with step("search"):
            given = {name: vectors if uses else None for name, uses in self.uses_vectors.items()}
            parts = self.searchers.items()
            rankings = {name: searched(each, sought, given[name], self.depth, allowed) for name, each in parts}
        with step("fuse"):
            return rankings, fuse(self.fusion, rankings, self.depth)


@dataclass(frozen=True)
class SearchLink:
    """Searches once for each question, all of them in one batch, and reranks."""

    search: IndexSearch
    reranker: Reranker
    rerank_depth: int
    corpus: Corpus
    step: Step

    def look(self, works: Sequence[Work]) -> None:
        """Set the rankings of questions that are not finished."""
        open_ = [work for work in works if not work.finished]
        if not open_:
            return
        rankings, fused = self.search.fused([work.sought for work in open_], [work.allowed for work in open_], self.step)
        with self.step("rerank"):
            questions = [work.sought.question for work in open_]
            reranked = rerank(self.reranker, questions, fused, self.corpus, self.rerank_depth)
        for row, work in enumerate(open_):
            work.trace = traced(work.sought, row, rankings, fused, reranked, work.trace.look)


@dataclass(frozen=True)
class SelectLink:
    """Drops or widens what was ranked; chunks that a selector adds are allowed ones. `name` is that of the timed step."""

    selectors: Mapping[str, Selector | QuestionSelector]
    corpus: Corpus
    step: Step
    name: str

    def look(self, works: Sequence[Work]) -> None:
        """Set the selected passages of questions that are not finished."""
        open_ = [work for work in works if not work.finished]
        with self.step(self.name) if open_ else nullcontext():
            if not open_ or not self.selectors:
                return
            ranked = stacked([work.trace.reranked for work in open_])
            questions, allowed = [work.sought.question for work in open_], [work.allowed for work in open_]
            chosen = select(self.selectors, ranked, self.corpus, questions, allowed)
        for row, work in enumerate(open_ if chosen is not ranked else ()):
            work.trace = replace(work.trace, selected=chosen.only(row))
