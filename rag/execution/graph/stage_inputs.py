"""The inputs of a stage, and stored results as records."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from rag.config.build import Components
from rag.core.assessments import Assessment
from rag.core.corpus import Corpus
from rag.core.rankings import Rankings
from rag.core.records.sets import NO_RECORDS, RecordSet
from rag.core.roles import Generator, Judge, Reranker
from rag.core.types import Answer, Arrays, Document, Query, Reply, Sought, Turn, Vectors
from rag.evaluation.data.golden import Golden
from rag.execution.graph.open_pipeline import knowing, reading_of, several
from rag.execution.store.cached_judgements import StoredJudge
from rag.execution.store.cached_vectors import StoredEmbedder, StoredReranker
from rag.execution.store.serialisation import (
    AnswerParts,
    answer_parts,
    assessment_of,
    found_of,
    looks_of,
    screened_of,
    sought_of,
)
from rag.execution.store.store import Entry, Store
from rag.pipeline.prompt.context_packing import hits
from rag.pipeline.prompt.prompt_assembly import Prepared


@dataclass(frozen=True)
class Job:
    """A stage that is about to run: its nodes and values, its inputs, and the golden set, builder and store of the plan."""

    nodes: Mapping[str, Any]
    values: Mapping[str, Any]
    inputs: Mapping[str, Entry]
    golden: Golden
    components: Components
    store: Store

    def build(self, role: str) -> Any:
        """The component of one node."""
        return self.components.build(self.nodes[role], role)

    def several(self, kind: str) -> dict[str, Any]:
        """The components of a node that holds several by name."""
        return several(self.nodes[kind], self.components)

    def stored(self, role: str, wrapper: Callable[[Any, Store, str], Any], part: Any = None) -> Any:
        """The component of one node, `part` if it is built already, in a wrapper that stores its results."""
        return wrapper(part or self.build(role), self.store, self.components.identity(self.nodes[role], role))

    @property
    def corpus(self) -> Corpus:
        """The chunks that this stage reads."""
        return corpus_of(self.inputs["corpus"], self.golden)

    @property
    def records(self) -> RecordSet:
        """The records that this stage reads; none without the stage `enrich`."""
        return records_of(self.inputs)

    @property
    def ranking(self) -> Rankings:
        """The rankings that this stage reads."""
        return rankings_of(self.inputs["ranking"])

    @property
    def vectors(self) -> Vectors | None:
        """The vectors that this stage reads, if it reads any."""
        return self.inputs["vectors"].arrays["vectors"] if "vectors" in self.inputs else None

    @property
    def queries(self) -> list[Query]:
        """The questions, with the histories of the golden set or of the stage `converse`."""
        asked = [example.query for example in self.golden.examples]
        entry = self.inputs.get("questions")
        return lived_of(entry, asked) if entry else asked

    @property
    def sought(self) -> list[Sought]:
        """The search texts of every question: those of a rewriter, or the question itself."""
        entry = self.inputs.get("queries")
        return sought_of(entry.meta) if entry else [Sought(query.text, (query.text,)) for query in self.queries]

    @property
    def texts(self) -> list[str]:
        """The search texts of all questions, in their order."""
        return [text for sought in self.sought for text in sought.texts]

    def embedder(self) -> StoredEmbedder:
        """The embedder; its vectors are stored by text."""
        embedder: StoredEmbedder = self.stored("embedder", StoredEmbedder)
        return embedder

    def reranker(self) -> Reranker:
        """The reranker; the scores of one that scores pairs are stored by pair."""
        reranker: Reranker = knowing("reranker", self.build("reranker"), self.corpus, self.inputs)
        return self.stored("reranker", StoredReranker, reranker) if reranker.pairwise else reranker

    def generator(self) -> Generator:
        """The generator; the replies of a costly one are stored by request."""
        generator: Generator = self.components.handed(self.nodes["generator"], "generator")
        return generator

    def judge(self) -> Judge:
        """The judge; its judgements are stored by text."""
        judge: Judge = self.stored("judge", StoredJudge)
        return judge

    def prepared(self) -> list[Prepared]:
        """The request of every question, and the passages in it."""
        reading = reading_of(self.nodes, self.values, self.golden.documents, self.components)
        entry = self.inputs.get("screen")
        looks = looks_of(self.inputs["ranking"].meta)
        asked = self.queries, self.ranking, self.corpus, looks
        screened = screened_of(entry.meta) if entry else reading.excerpts.screen(*asked)
        gold = [example.answers for example in self.golden.examples]
        prepared = reading.prepare(self.queries, screened, self.corpus, gold, looks)
        if not (again := self.values.get("repeat", 0)):
            return prepared
        return [replace(each, request=each.request and replace(each.request, sample=again)) for each in prepared]

    def answers(self) -> list[Answer | None] | None:
        """The answers that this stage reads, if any were generated."""
        return answers_of(self.inputs["check"], self.corpus, self.queries) if "check" in self.inputs else None

    def assessments(self) -> list[Assessment] | None:
        """The assessments of the answers, if a judge was asked."""
        return assessment_of(self.inputs["assess"].meta) if "assess" in self.inputs else None


def lived_of(entry: Entry, queries: Sequence[Query]) -> list[Query]:
    """Questions with the histories of the stage `converse`, and what their conversations found."""
    lived = [tuple(Turn(**turn) for turn in history) for history in entry.meta["histories"]]
    earlier = found_of(entry.meta) or [()] * len(lived)
    rows = zip(queries, lived, earlier, strict=True)
    return [replace(query, history=history, earlier=found) for query, history, found in rows]


def records_of(inputs: Mapping[str, Entry]) -> RecordSet:
    """The stored records among the inputs of a stage; none without the stage `enrich`."""
    return RecordSet.from_json(inputs["records"].meta["records"]) if "records" in inputs else NO_RECORDS


def corpus_of(entry: Entry, golden: Golden) -> Corpus:
    """Stored chunks laid over their documents, and over the passages of another system that are in none of these."""
    arrays, documents = entry.arrays, golden.documents
    if foreign := entry.meta.get("foreign"):
        others = (Document(name, text) for name, text in foreign.items())
        documents = tuple(sorted((*documents, *others), key=lambda document: document.doc_id))
    return Corpus(documents, arrays["doc"], arrays["start"], arrays["end"], texts_of(arrays))


def texts_of(arrays: Arrays) -> tuple[str, ...] | None:
    """The texts that indexes read, from `entry_of_corpus`; None if they are those of the chunks."""
    if "indexed" not in arrays:
        return None
    whole, ends = arrays["indexed"].tobytes().decode("utf-8"), arrays["indexed_end"].tolist()
    return tuple(whole[start:end] for start, end in pairwise([0, *ends]))


def rankings_of(entry: Entry) -> Rankings:
    """Stored rankings."""
    arrays = entry.arrays
    return Rankings(arrays["positions"], arrays["scores"], arrays.get("ranks"), arrays.get("joined"))


def replies_of(entry: Entry) -> list[Reply]:
    """The replies of stored answers; an empty one for a question that failed."""
    return [part.reply if part else Reply("") for part in answer_parts(entry.meta)]


def answers_of(entry: Entry, corpus: Corpus, queries: Sequence[Query]) -> list[Answer | None]:
    """Stored answers of questions; None for one that failed."""
    rows = zip(queries, answer_parts(entry.meta), strict=True)
    return [None if part is None else _answer(query, part, corpus) for query, part in rows]


def _answer(query: Query, part: AnswerParts, corpus: Corpus) -> Answer:
    read, left_out = hits(corpus, part.read, part.ends), hits(corpus, part.left_out)
    return Answer(query, read, part.reply, part.findings, part.abstained, left_out=left_out, look=part.look)


def entry_of_rankings(rankings: Rankings) -> Entry:
    """Rankings as the result of a stage."""
    more = {name: values for name, values in (("ranks", rankings.ranks), ("joined", rankings.joined)) if values is not None}
    return Entry({"positions": rankings.positions, "scores": rankings.scores, **more})


def entry_of_corpus(corpus: Corpus) -> Entry:
    """Chunks as the result of a stage: `indexed` is the UTF-8 of all texts that indexes read, `indexed_end` their ends."""
    arrays: Arrays = {"doc": corpus.doc, "start": corpus.start, "end": corpus.end}
    if corpus.indexed is not None:
        written = np.frombuffer("".join(corpus.indexed).encode("utf-8"), np.uint8)
        ends = np.cumsum([len(text) for text in corpus.indexed], dtype=np.int64)
        arrays = {**arrays, "indexed": written, "indexed_end": ends}
    return Entry(arrays)


def entry_of_contexts(corpus: Corpus, rankings: Rankings) -> Entry:
    """Chunks and rankings of them in one entry, which can be read as either."""
    return Entry({**entry_of_corpus(corpus).arrays, **entry_of_rankings(rankings).arrays})
