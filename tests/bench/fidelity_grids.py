"""The trials over which people's and generated questions are compared, for corpora with people's questions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.measuring import DATA, ROOT

from rag.config.experiment import Choice, Experiment

METRIC, SOLVED = "ndcg@10", "recall@5"
FIXED = ("split=all", "generator=none", "latency=0", f"metrics=[{METRIC},{SOLVED}]")
BM25, BOTH = "index=[bm25s] fusion=single", "index=[bm25s,dense]"
DENSE, RRF = "index=[dense] fusion=single", f"{BOTH} fusion=rrf"


def convex(words: float) -> str:
    """A weighted sum of BM25 and MiniLM."""
    return f"{BOTH} fusion=weighted fusion.weights=[{words},{round(1 - words, 1)}]"


CHUNKERS = {
    "recursive-400": "chunker=recursive chunker.size=400",
    "recursive-800": "chunker=recursive chunker.size=800",
    "token-128": "chunker=token chunker.target=96 chunker.max=128",
    "whole": "chunker=whole",
    "fixed-800": "chunker=fixed chunker.size=800",
    "fixed-1600": "chunker=fixed chunker.size=1600",
}
WORDS = {
    "bm25": BM25,
    "bm25 .9/.4": f"{BM25} index.bm25s.k1=0.9 index.bm25s.b=0.4",
    "bm25 b 0": f"{BM25} index.bm25s.b=0",
    "bm25 no stems": f"{BM25} index.bm25s.analyser=words",
}
FOUR = {"bm25": BM25, "dense": DENSE, "rrf": RRF, "weighted": convex(0.5)}
SIX = FOUR | {name: WORDS[name] for name in ("bm25 b 0", "bm25 no stems")}
EIGHT = {name: WORDS[name] for name in ("bm25 .9/.4", "bm25")} | {"dense": DENSE, "rrf": RRF}
EIGHT |= {f"convex {each}": convex(each) for each in (0.2, 0.4, 0.6, 0.8)}
LONG = ("recursive-400", "recursive-800", "token-128")
Block = tuple[Sequence[str], Mapping[str, str]]


@dataclass(frozen=True)
class Grid:
    """A corpus with people's questions, and trials: chunkers × searches of each block, with each reranker.

    `people` and `loader` are overrides: the dataset of people's questions, and the loader of the documents for another file.
    """

    people: tuple[str, ...]
    loader: tuple[str, ...]
    blocks: tuple[Block, ...]
    embedder: str = "minilm"
    rerankers: tuple[str, ...] = ("none",)

    def experiment(self, store: Path, questions: Path | None = None) -> Experiment:
        """The sweep of all trials over people's questions, or over a file of questions in the native format."""
        own = ("dataset=native", f"dataset.path={questions.parent}", f"dataset.questions={questions.name}") if questions else ()
        trials = [
            Choice(f"{chunker} · {name} · {reranker}", (*CHUNKERS[chunker].split(), *search.split(), f"reranker={reranker}"))
            for chunkers, searches in self.blocks
            for chunker in chunkers
            for name, search in searches.items()
            for reranker in self.rerankers
        ]
        fixed = (*(own + self.loader if questions else self.people), f"embedder={self.embedder}", f"store={store}", *FIXED)
        return Experiment("fidelity", "Which trial is best?", fixed, {"trial": tuple(trials)})


def grid(dataset: str, folder: str, *blocks: Block, people: Sequence[str] = (), embedder: str = "minilm") -> Grid:
    """A grid over a folder of the public data, whose dataset and loader have the same name."""
    path = DATA / folder
    return Grid(
        (f"dataset={dataset}", f"dataset.path={path}", *people), (f"loader={dataset}", f"loader.path={path}"), blocks, embedder
    )


HANDBOOK = (f"loader.path={ROOT / 'datasets' / 'handbook' / 'documents'}",)
REPORTED = {
    "handbook": Grid(("dataset=handbook",), HANDBOOK, ((LONG, FOUR),), rerankers=("none", "maxsim")),
    "chroma-a": grid("chroma", "chroma-a", (("fixed-800", "fixed-1600", *LONG[:2]), EIGHT), embedder="minilm_windows"),
    "cranfield": grid("beir", "beir/cranfield", (("whole", "recursive-400"), SIX)),
    "scifact-train": grid(
        "beir",
        "beir/scifact-train",
        (("whole",), WORDS | {"dense": DENSE, "rrf": RRF, "convex 0.3": convex(0.3), "convex 0.7": convex(0.7)}),
        (("recursive-400",), WORDS),
    ),
}
"""Figures are reported on these: no part of the generator is chosen by them.

The handbook's are the trials of experiments/quickstart.yaml, chroma-a's those of experiments/fusion.yaml at one k without the
near copies bm25 1.5/.75 and rrf 20, 40 and 80. With scifact-train only whole documents have vectors.
"""
STANDALONE = ("dataset.queries=queries.rewrite.jsonl", "dataset.conversations=''")
DEVELOPED = {
    "squad2-a": grid("squad", "squad2-a", (LONG, FOUR)),
    "mtrag-human-179": grid("beir", "beir/mtrag-human-179", (("whole", "recursive-400"), SIX), people=STANDALONE),
    "hotpotqa-200": grid("beir", "beir/hotpotqa-200", (("whole", "recursive-400"), SIX)),
}
"""Rules, prompts and filters of the generator are chosen by these."""
GRIDS = REPORTED | DEVELOPED
