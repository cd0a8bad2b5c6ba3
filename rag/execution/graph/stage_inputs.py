"""A stage about to run, and what stored results are read as."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rag.config.build import Components
from rag.core.assessments import Assessment
from rag.core.corpus import Corpus
from rag.core.rankings import Rankings
from rag.core.records import Answer, Query, Reply, Sought, Turn
from rag.core.roles import Embedder, Generator, Judge, Reranker
from rag.evaluation.data.golden import Golden
from rag.execution.graph.open_pipeline import reading_of
from rag.execution.store.cached_judgements import StoredJudge
from rag.execution.store.cached_vectors import StoredEmbedder, StoredReranker
from rag.execution.store.serialisation import AnswerParts, answer_parts, assessment_of, screened_of, sought_of
from rag.execution.store.store import Entry, Store
from rag.pipeline.context_packing import hits
from rag.pipeline.prompt_assembly import Prepared


@dataclass(frozen=True)
class Job:
    """A stage about to run: its parts of the config, its inputs, and what every stage may use."""

    nodes: Mapping[str, Any]
    values: Mapping[str, Any]
    inputs: Mapping[str, Entry]
    golden: Golden
    components: Components
    store: Store

    @property
    def corpus(self) -> Corpus:
        """The chunks that this stage reads."""
        return corpus_of(self.inputs["corpus"], self.golden)

    @property
    def ranking(self) -> Rankings:
        """The rankings that this stage reads."""
        return rankings_of(self.inputs["ranking"])

    @property
    def queries(self) -> list[Query]:
        """The questions as they were asked, in the conversations that they stood in or, where these were lived, in those."""
        asked = [example.query for example in self.golden.examples]
        entry = self.inputs.get("questions")
        return lived_of(entry, asked) if entry else asked

    @property
    def sought(self) -> list[Sought]:
        """What is searched for: what a rewriter made of the questions, or the questions as they were asked."""
        entry = self.inputs.get("queries")
        return sought_of(entry.meta) if entry else [Sought(query.text, (query.text,)) for query in self.queries]

    @property
    def texts(self) -> list[str]:
        """All texts that are searched for, those of one question in a row."""
        return [text for sought in self.sought for text in sought.texts]

    def embedder(self) -> Embedder:
        """The embedder, its vectors kept by text."""
        node = self.nodes["embedder"]
        return StoredEmbedder(self.components.build(node, "embedder"), self.store, self.components.identity(node, "embedder"))

    def reranker(self) -> Reranker:
        """The reranker; one that scores pairs has its scores kept by pair."""
        node = self.nodes["reranker"]
        reranker: Reranker = self.components.build(node, "reranker")
        return (
            StoredReranker(reranker, self.store, self.components.identity(node, "reranker")) if reranker.pairwise else reranker
        )

    def generator(self) -> Generator:
        """The generator; a costly one has its replies kept by request."""
        generator: Generator = self.components.handed(self.nodes["generator"], "generator")
        return generator

    def judge(self) -> Judge:
        """The judge, its judgements kept by what was judged."""
        node = self.nodes["judge"]
        return StoredJudge(self.components.build(node, "judge"), self.store, self.components.identity(node, "judge"))

    def prepared(self) -> list[Prepared]:
        """What the generator is given for every question."""
        reading = reading_of(self.nodes, self.values, self.golden.documents, self.components)
        entry = self.inputs.get("screen")
        screened = screened_of(entry.meta) if entry else reading.screen(self.queries, self.ranking, self.corpus)
        return reading.prepare(self.queries, screened, self.corpus, [example.answers for example in self.golden.examples])

    def answers(self) -> list[Answer | None] | None:
        """The answers that this stage reads, if any were generated."""
        return answers_of(self.inputs["check"], self.corpus, self.queries) if "check" in self.inputs else None

    def assessments(self) -> list[Assessment] | None:
        """What a judge said of the answers, if one was asked."""
        return assessment_of(self.inputs["assess"].meta) if "assess" in self.inputs else None


def lived_of(entry: Entry, queries: Sequence[Query]) -> list[Query]:
    """Questions with the histories that a conversation left."""
    lived = [tuple(Turn(**turn) for turn in history) for history in entry.meta["histories"]]
    return [replace(query, history=history) for query, history in zip(queries, lived, strict=True)]


def corpus_of(entry: Entry, golden: Golden) -> Corpus:
    """Stored chunks laid over their documents."""
    return Corpus(golden.documents, **{name: entry.arrays[name] for name in ("doc", "start", "end")})


def rankings_of(entry: Entry) -> Rankings:
    """Stored rankings."""
    return Rankings(entry.arrays["positions"], entry.arrays["scores"], entry.arrays.get("ranks"))


def replies_of(entry: Entry) -> list[Reply]:
    """The replies of stored answers, as people read them; an empty one for a question that failed."""
    return [part.reply if part else Reply("") for part in answer_parts(entry.meta)]


def answers_of(entry: Entry, corpus: Corpus, queries: Sequence[Query]) -> list[Answer | None]:
    """Stored answers of questions; None for one that failed."""
    rows = zip(queries, answer_parts(entry.meta), strict=True)
    return [None if part is None else _answer(query, part, corpus) for query, part in rows]


def _answer(query: Query, part: AnswerParts, corpus: Corpus) -> Answer:
    read, left_out = hits(corpus, part.read, part.ends), hits(corpus, part.left_out)
    return Answer(query, read, part.reply, part.findings, part.abstained, left_out=left_out)


def entry_of_rankings(rankings: Rankings) -> Entry:
    """Rankings as a stage keeps them."""
    ranks = {} if rankings.ranks is None else {"ranks": rankings.ranks}
    return Entry({"positions": rankings.positions, "scores": rankings.scores, **ranks})


def entry_of_corpus(corpus: Corpus) -> Entry:
    """Chunks as a stage keeps them."""
    return Entry({"doc": corpus.doc, "start": corpus.start, "end": corpus.end})


def entry_of_contexts(corpus: Corpus, rankings: Rankings) -> Entry:
    """Chunks and rankings of them in one entry, which may be read as either."""
    return Entry({**entry_of_corpus(corpus).arrays, **entry_of_rankings(rankings).arrays})
