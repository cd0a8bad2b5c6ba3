"""Processor time of vectors, and of questions that are asked one at a time."""

import json
from functools import partial
from pathlib import Path

from bench.measuring import HANDBOOK, Row, Rows, chosen, cpu_seconds

from rag.config.catalog import choices
from rag.core.types import Query
from rag.execution.sweep.open_config import config_of, open_config
from rag.pipeline.search import steps

EMBEDDERS = ("hashing", "static", "minilm_int8")
TEXTS, SIZE, QUESTIONS, WARM = 150, 800, 100, 5
MOST = 8_000
"""Milliseconds after which no further question is asked."""
BM25, BOTH = ("index=[bm25s]", "fusion=single"), ("index=[bm25s,dense]", "fusion=rrf")
SEARCHES: dict[str, tuple[tuple[str, ...], str]] = {
    "bm25s": (BM25, ""),
    "bm25s, extractive answer": ((*BM25, "generator=extractive"), "bm25s"),
    "minilm": (("index=[dense]", "fusion=single"), "bm25s"),
    "rrf of both": (BOTH, "minilm"),
    "rrf of both, mmr": ((*BOTH, "reranker=mmr"), "rrf of both"),
    "rrf of both, maxsim": ((*BOTH, "reranker=maxsim"), "rrf of both"),
}
"""Searches with their overrides, each with the one that it is compared with."""


def embedding(folder: Path) -> Rows:
    """Texts of 800 characters of the handbook as vectors."""
    files = sorted((HANDBOOK / "documents").rglob("*.*"))
    text = "\n".join(path.read_text("utf-8") for path in files)
    texts = [text[at : at + SIZE] for at in range(0, len(text), SIZE)][:TEXTS]
    known = choices("embedder")
    taken = {}
    for name in ("minilm", *(name for name in EMBEDDERS if name in known)):
        embedder = chosen("embedder", name)
        steps.embed_documents(embedder, texts[:WARM])
        taken[name] = 1000 * cpu_seconds(partial(steps.embed_documents, embedder, texts), 2) / len(texts)
        yield Row(f"a text of {SIZE} characters, embedder={name}", taken[name], "CPU ms", "minilm", taken["minilm"])


def questions(folder: Path) -> Rows:
    """Questions of the handbook one at a time, chunks of 800 characters."""
    lines = (HANDBOOK / "questions.jsonl").read_text("utf-8").splitlines()
    asked = [Query(row["id"], row["text"]) for row in map(json.loads, lines)][:QUESTIONS]
    taken: dict[str, float] = {}
    for name, (overrides, other) in SEARCHES.items():
        held = ("chunker=recursive", "chunker.size=800", "embedder=minilm", "generator=none", "check=none", "store=store")
        pipeline = open_config(config_of([*held, *overrides]))
        for query in asked[:WARM]:
            pipeline.answer(query)
        waits = list[float]()
        while len(waits) < len(asked) and sum(waits) < MOST:
            waits.append(1000 * cpu_seconds(partial(pipeline.answer, asked[len(waits)])))
        waits.sort()
        taken[name] = sum(waits) / len(waits)
        note = f"{len(waits)} questions, p95 {waits[int(0.95 * len(waits))]:.1f} ms"
        yield Row(f"a question, {name}", taken[name], "CPU ms", other, taken.get(other), note)
