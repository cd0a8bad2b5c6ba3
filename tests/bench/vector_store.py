"""Measure one index over stored vectors in a process of its own; prints JSON. Run by test_bench_stores."""

import json
import resource
import sys
import time
from pathlib import Path

import numpy as np
import psutil

from rag.config.build import Components
from rag.core.rankings import Rankings

DEPTH = 10


def resident(process: psutil.Process) -> float:
    """Megabytes of a process and its children; what they share is counted once."""
    return sum(part.memory_full_info().pss for part in [process, *process.children(recursive=True)]) / 1e6


def main(node: str, vectors: str, questions: str, gold: str, server: str) -> None:
    """Build, open again, ask one question at a time, and compare with exact search."""
    index = Components().role("index", json.loads(node), "index")
    chunks, asked, best = (np.load(path) for path in (vectors, questions, gold))
    index.build([], chunks[:1])  # loads the library
    before = resident(psutil.Process())
    began = time.perf_counter()
    searcher = index.open(index.build([], chunks))
    built = time.perf_counter() - began
    searcher.search([""], asked[:1], DEPTH)
    seconds, rows = [], []
    for row in range(len(asked)):
        began = time.perf_counter()
        rows.append(searcher.search([""], asked[row : row + 1], DEPTH))
        seconds.append(time.perf_counter() - began)
    allowed = np.arange(len(chunks)) % 2 == 0
    began = time.perf_counter()
    for row in range(20):
        searcher.search([""], asked[row : row + 1], DEPTH, allowed)
    filtered = (time.perf_counter() - began) / 20
    found = [Rankings.row(ranking, 0) for ranking in rows]
    overlap = [len({place for place, _ in hits} & set(row)) / len(row) for hits, row in zip(found, best.tolist(), strict=True)]
    figures = {
        "build": built,
        "p50": float(np.percentile(seconds, 50)) * 1e3,
        "p95": float(np.percentile(seconds, 95)) * 1e3,
        "half": filtered * 1e3,
        "recall": overlap,
        "client": resident(psutil.Process()) - before,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3,
        "server": resident(psutil.Process(int(server))) if server else 0.0,
    }
    sys.stdout.write(json.dumps(figures))


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))
    main(*sys.argv[1:])
