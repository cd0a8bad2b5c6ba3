"""Vector stores over chunks of real text: build, seconds of single questions, what approximate search loses, memory, disk."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import psycopg
import pytest
from bench.measuring import DATA, ROOT, Report, needs_data
from bench.vector_store import DEPTH
from support.choices import node
from support.databases import Postgres, postgres

from rag.components.embedders.static import StaticEmbedder
from rag.pipeline.search import steps

pytestmark = pytest.mark.bench

WORDS, STEP = 18, 9
SIZES = [int(size) for size in os.environ.get("RAG_BENCH_CHUNKS", "2000,20000,200000").split(",")]
QUESTIONS = 200
KINDS = {
    "faiss_flat": ("faiss_flat", {}),
    "pgvector exact": ("pgvector", {}),
    "pgvector hnsw": ("pgvector", {"method": "hnsw"}),
    "pgvector hnsw, ef_search 200": ("pgvector", {"method": "hnsw", "ef_search": 200}),
    "qdrant, memory": ("qdrant", {}),
    "chroma, folder": ("chroma", {}),
    "faiss_hnsw": ("faiss_hnsw", {}),
}


EXACT = ("faiss_flat", "pgvector exact", "qdrant, memory")


def chunks() -> list[str]:
    """Different windows of WORDS words, every STEP words, from the documents of the BEIR sets, in an order drawn once."""
    found: dict[str, None] = {}
    for path in sorted((DATA / "beir").glob("*/corpus.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            words = json.loads(line)["text"].split()
            found |= dict.fromkeys(" ".join(words[start : start + WORDS]) for start in range(0, len(words), STEP))
    texts = list(found)
    return [texts[place] for place in np.random.default_rng(0).permutation(len(texts))]


def questions() -> list[str]:
    """The first questions of each set, as many of each."""
    files = sorted((DATA / "beir").glob("*/queries.jsonl"))
    rows = [[json.loads(line)["text"] for line in path.read_text("utf-8").splitlines()] for path in files]
    return [text for row in rows for text in row[: QUESTIONS // len(files)]]


@pytest.fixture(scope="module")
def pg() -> Iterator[Postgres]:
    with postgres() as server:
        yield server


def files(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


def disk(choice: str, url: str, bench: Path) -> float | None:
    """Megabytes of the newest table with its indexes, or of the files of Chroma."""
    if not url:
        return files(bench / ".rag" / "chroma") if choice == "chroma" else None
    with psycopg.connect(url) as connection:
        tables = "SELECT pg_total_relation_size(oid) FROM pg_class WHERE relname LIKE 'assay%' AND relkind = 'r' ORDER BY oid"
        return float(connection.execute(tables).fetchall()[-1][0]) / 1e6


@needs_data
@pytest.mark.parametrize("size", SIZES)
def test_stores(bench: Path, pg: Postgres, size: int) -> None:
    embedder = StaticEmbedder(dimensions=384)
    texts = chunks()[:size]
    vectors, asked = steps.embed_documents(embedder, texts), steps.embed_queries(embedder, questions())
    gold = np.argsort(-(asked.astype(np.float64) @ vectors.astype(np.float64).T), axis=1, kind="stable")[:, :DEPTH]
    for name, array in (("vectors", vectors), ("questions", asked), ("gold", gold)):
        np.save(bench / f"{name}.npy", array)
    heads = ("index", "build s", "p50 ms", "p95 ms", "half allowed ms", "overlap@10", "client MB", "server MB", "disk MB")
    report = Report(f"{len(texts):,} chunks of {WORDS} words, {vectors.shape[1]} dimensions", heads)
    database = pg.fresh()
    for name, (choice, given) in KINDS.items():
        url = database if choice == "pgvector" else ""
        described = {key: value for key, value in node("index", choice, **given).items() if key != "runtime"}
        described |= {"runtime": {"build_mb": 1024}} if url else {}
        command = [sys.executable, str(ROOT / "tests" / "bench" / "vector_store.py"), json.dumps(described)]
        command += [*(f"{part}.npy" for part in ("vectors", "questions", "gold")), str(pg.pid) if url else ""]
        variables = {**os.environ, "PGVECTOR_URL": url, "PYTHONPATH": str(ROOT)}
        ended = subprocess.run(command, capture_output=True, text=True, env=variables, check=False)
        assert ended.returncode == 0, ended.stderr
        found = json.loads(ended.stdout)
        overlap = float(np.mean(found["recall"]))
        assert overlap == 1 or name not in EXACT, "exact search differs from numpy"
        cells = (found[key] for key in ("build", "p50", "p95", "half"))
        report.row(name, *cells, overlap, found["client"], found["server"] or None, disk(choice, url, bench))
        report.show()
    report.note(
        "The second of two graphs with the same parameters is found in the database: its seconds are those of opening it"
    )
    report.note(f"{len(asked)} questions, one at a time; overlap with the first {DEPTH} of numpy in float64")
    report.show()
