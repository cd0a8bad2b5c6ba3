"""What each stage does with its inputs: stored arrays in, a step of the pipeline or of the evaluation, arrays out."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rag import evaluate, pipeline, standins
from rag.build import Components
from rag.corpus import Corpus
from rag.golden import Golden
from rag.items import StoredEmbedder, StoredGenerator, StoredReranker, meta_of, reply_of
from rag.opening import open_pipeline
from rag.rankings import Rankings
from rag.records import Reply, Vectors
from rag.roles import Embedder, Generator, Reranker
from rag.store import Entry, Store


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
    def texts(self) -> list[str]:
        """What is searched for: a memory's words, or the questions as they were asked."""
        entry = self.inputs.get("queries")
        return list(entry.meta["texts"]) if entry else [example.query.text for example in self.golden.examples]

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
        node = self.nodes["generator"]
        generator: Generator = self.components.build(node, "generator")
        if not getattr(generator, "costly", False):
            return generator
        return StoredGenerator(generator, self.store, self.components.identity(node, "generator"))

    def replies(self) -> list[Reply] | None:
        """The replies that this stage reads, if any were generated."""
        return replies_of(self.inputs["generate"]) if "generate" in self.inputs else None


def corpus_of(entry: Entry, golden: Golden) -> Corpus:
    """Stored chunks laid over their documents."""
    return Corpus(golden.documents, **{name: entry.arrays[name] for name in ("doc", "start", "end")})


def rankings_of(entry: Entry) -> Rankings:
    """Stored rankings."""
    return Rankings(entry.arrays["positions"], entry.arrays["scores"])


def replies_of(entry: Entry) -> list[Reply]:
    """Stored replies."""
    return [reply_of(meta) for meta in entry.meta["replies"]]


def _of_rankings(rankings: Rankings) -> Entry:
    return Entry({"positions": rankings.positions, "scores": rankings.scores})


def _of_corpus(corpus: Corpus) -> Entry:
    return Entry({"doc": corpus.doc, "start": corpus.start, "end": corpus.end})


def _of_contexts(corpus: Corpus, rankings: Rankings) -> Entry:
    """Chunks and rankings of them in one entry, which may be read as either."""
    return Entry({**_of_corpus(corpus).arrays, **_of_rankings(rankings).arrays})


def run_chunk(job: Job) -> Entry:
    """Documents → chunks."""
    corpus = pipeline.chunk(job.components.build(job.nodes["chunker"], "chunker"), job.golden.documents)
    return Entry({"doc": corpus.doc, "start": corpus.start, "end": corpus.end})


def run_uncut(job: Job) -> Entry:
    """Chunks and gold → chunks that cut no gold."""
    return _of_corpus(standins.uncut(job.corpus, job.golden.examples))


def run_embed(job: Job) -> Entry:
    """Chunks → unit vectors."""
    return Entry({"vectors": pipeline.embed_documents(job.embedder(), job.corpus.texts)})


def run_remember(job: Job) -> Entry:
    """Questions with their earlier turns → what is searched for."""
    memory = job.components.build(job.nodes["memory"], "memory")
    return Entry(meta={"texts": memory.contextualize([example.query for example in job.golden.examples])})


def run_embed_queries(job: Job) -> Entry:
    """What is searched for → unit vectors."""
    return Entry({"vectors": pipeline.embed_queries(job.embedder(), job.texts)})


def run_index(job: Job) -> Entry:
    """Chunks or their vectors → an index's arrays."""
    index = job.components.build(job.nodes["index"], "index")
    vectors: Vectors | None = None
    texts: Sequence[str] = ()
    if index.uses_vectors:
        vectors = job.inputs["vectors"].arrays["vectors"]
    else:
        texts = job.corpus.texts
    return Entry(dict(index.build(texts, vectors)))


def run_search(job: Job) -> Entry:
    """An index and questions → rankings."""
    searcher = job.components.build(job.nodes["index"], "index").open(job.inputs["index"].arrays)
    vectors = job.inputs["vectors"].arrays["vectors"] if "vectors" in job.inputs else None
    return _of_rankings(searcher.search(job.texts, vectors, job.values["depth"]))


def run_fuse(job: Job) -> Entry:
    """Rankings of several indexes → one."""
    fusion = job.components.build(job.nodes["fusion"], "fusion")
    found = {name: rankings_of(job.inputs[name]) for name in job.values["names"]}
    return _of_rankings(pipeline.fuse(fusion, found, job.values["depth"]))


def run_rerank(job: Job) -> Entry:
    """Rankings → rankings, their heads in a new order."""
    return _of_rankings(pipeline.rerank(job.reranker(), job.texts, job.ranking, job.corpus, job.values["rerank_depth"]))


def run_select(job: Job) -> Entry:
    """Rankings → fewer or wider rankings."""
    selector = job.components.build(job.nodes["selector"], "selector")
    return _of_rankings(pipeline.select(selector, job.ranking, job.corpus))


def run_shuffle(job: Job) -> Entry:
    """Rankings → rankings, each of another question."""
    return _of_rankings(standins.of_another(job.ranking, job.golden.examples))


def run_no_contexts(job: Job) -> Entry:
    """Questions → nothing to read."""
    return _of_contexts(*standins.no_contexts(job.golden.documents, len(job.golden.examples)))


def run_gold_contexts(job: Job) -> Entry:
    """Chunks and gold → the gold, as chunks and rankings."""
    return _of_contexts(*standins.gold_contexts(job.corpus, job.golden.examples, job.values["depth"]))


def run_generate(job: Job) -> Entry:
    """The first k passages → replies."""
    prompt = job.components.build(job.nodes["prompt"], "prompt")
    queries = [example.query for example in job.golden.examples]
    asked = pipeline.requests(prompt, queries, job.ranking, job.corpus, job.values["k"])
    replies = job.generator().generate(asked)
    return Entry(meta={"replies": [meta_of(reply) for reply in replies]})


def run_gold(job: Job) -> Entry:
    """Chunks and gold → which chunk holds which gold."""
    return Entry(evaluate.gold_table(job.corpus, job.golden.examples, job.values["coverage"]).to_arrays())


def run_judge(job: Job) -> Entry:
    """Rankings and gold → what the metrics read."""
    table = evaluate.Gold.from_arrays(job.inputs["gold"].arrays)
    return Entry(evaluate.judge(job.ranking, table).to_arrays())


def run_score(job: Job) -> Entry:
    """What the metrics read → scores per question, and their means with intervals."""
    metrics = {name: job.components.build(node, f"metric.{name}") for name, node in job.nodes["metrics"].items()}
    judged = evaluate.Judged.from_arrays(job.inputs["judge"].arrays)
    columns, k = job.values["columns"], job.values.get("k", 1)
    scores = evaluate.score(judged, job.replies(), job.golden.examples, metrics, columns, k)
    return Entry(scores.to_arrays(), {"summary": evaluate.summarise(scores, job.golden.examples).to_json()})


def run_latency(job: Job) -> Entry:
    """Seconds of single questions through the whole pipeline, warm: each is asked once before it is timed.

    Nothing is read from a store on the way: what is timed is what is served.
    """
    answering = open_pipeline(job.nodes, job.values, job.corpus, job.inputs, job.components.plain)
    sample = job.golden.examples[:: max(1, len(job.golden.examples) // job.values["latency"])][: job.values["latency"]]
    seconds = []
    for example in sample:
        answering.answer(example.query)
        began = time.perf_counter()
        answering.answer(example.query)
        seconds.append(time.perf_counter() - began)
    return Entry({"seconds": np.array(seconds)})


RUNNERS: Mapping[str, Callable[[Job], Entry]] = {
    "chunk": run_chunk,
    "uncut": run_uncut,
    "embed": run_embed,
    "remember": run_remember,
    "embed queries": run_embed_queries,
    "index": run_index,
    "search": run_search,
    "fuse": run_fuse,
    "rerank": run_rerank,
    "select": run_select,
    "shuffle": run_shuffle,
    "no contexts": run_no_contexts,
    "gold contexts": run_gold_contexts,
    "generate": run_generate,
    "gold": run_gold,
    "judge": run_judge,
    "score": run_score,
    "latency": run_latency,
}
