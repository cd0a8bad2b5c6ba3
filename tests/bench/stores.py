"""Vector stores over windows of real text: what approximate search loses, and single questions beside FAISS in this process."""

import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from bench.measuring import Row, Rows, chosen, public
from numpy.typing import NDArray
from support.choices import built, node
from support.databases import postgres

from rag.core.rankings import Rankings
from rag.pipeline.search import steps

WINDOW, STEP, CHUNKS, QUESTIONS, DEPTH = 18, 9, 10_000, 100, 10
KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "faiss_flat": ("faiss_flat", {}),
    "faiss_hnsw": ("faiss_hnsw", {}),
    "pgvector, exact": ("pgvector", {}),
    "pgvector, hnsw": ("pgvector", {"method": "hnsw"}),
    "qdrant, in memory": ("qdrant", {}),
    "chroma, folder": ("chroma", {}),
}


def texts_and_questions() -> tuple[list[str], list[str]]:
    """Different windows of words of the BEIR sets in an order that was drawn once, and as many questions of each set."""
    found: dict[str, None] = {}
    corpora = sorted(public("beir").glob("*/corpus.jsonl"))
    for path in corpora:
        for line in path.read_text("utf-8").splitlines():
            words = json.loads(line)["text"].split()
            found |= dict.fromkeys(" ".join(words[at : at + WINDOW]) for at in range(0, len(words), STEP))
    texts = list(found)
    drawn = [texts[place] for place in np.random.default_rng(0).permutation(len(texts))[:CHUNKS]]
    rows = [path.with_name("queries.jsonl").read_text("utf-8").splitlines() for path in corpora]
    return drawn, [json.loads(line)["text"] for row in rows for line in row[: QUESTIONS // len(rows)]]


def asked(index: Any, vectors: NDArray[np.float32], questions: NDArray[np.float32], gold: Sequence[list[int]]) -> list[float]:
    """Seconds to build, median milliseconds of a question, and the share of the nearest chunks that is found."""
    index.build([], vectors[:1])  # loads the library
    began = time.perf_counter()
    searcher = index.open(index.build([], vectors))
    searcher.search([""], questions[:1], DEPTH)
    built, waits, shares = time.perf_counter() - began, [], []
    for row, best in enumerate(gold):
        began = time.perf_counter()
        hits = searcher.search([""], questions[row : row + 1], DEPTH)
        waits.append(1000 * (time.perf_counter() - began))
        shares.append(len({place for place, _ in Rankings.row(hits, 0)} & set(best)) / DEPTH)
    return [built, float(np.median(waits)), float(np.mean(shares))]


def vector_stores(folder: Path) -> Rows:
    """10,000 vectors of `embedder=static`; wall clocks, because servers are other processes."""
    embedder = chosen("embedder", "static")
    texts, questions = texts_and_questions()
    vectors, vectors_asked = steps.embed_documents(embedder, texts), steps.embed_queries(embedder, questions)
    scores = vectors_asked.astype(np.float64) @ vectors.astype(np.float64).T
    gold = np.argsort(-scores, axis=1, kind="stable")[:, :DEPTH].tolist()
    first: list[float] = []
    with postgres() as server:
        for name, (choice, given) in KINDS.items():
            os.environ["PGVECTOR_URL"] = server.fresh() if choice == "pgvector" else ""
            found = asked(built(node("index", choice, **given)), vectors, vectors_asked, gold)
            first = first or found
            note = f"{found[2]:.3f} of the {DEPTH} nearest found"
            yield Row(f"{name}, a question among {len(texts):,}", found[1], "ms p50", "faiss_flat", first[1], note)
            yield Row(f"{name}, build", found[0], "s wall", "faiss_flat", first[0])
