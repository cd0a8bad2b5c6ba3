"""A server under 16 clients without pauses, beside a no-op FastAPI handler in the same run.

`RAG_LOAD` is the seconds of each (10).
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import psutil
from bench.measuring import HANDBOOK, Row, Rows, public
from support.ports import free_port
from support.unmeasured_bundles import seal

from rag.execution.sweep.open_config import config_of

CLIENTS, LOAD = 16, float(os.environ.get("RAG_LOAD", "10"))
NOTHING = """
from fastapi import FastAPI

app = FastAPI()


@app.post("/search")
async def search(body: dict[str, str]) -> dict[str, str]:
    return body


@app.get("/readyz")
async def ready() -> None:
    pass
"""
SERVED = {
    "bm25s and static vectors": ("embedder=static",),
    "bm25s and MiniLM": ("embedder=minilm",),
    "bm25s and MiniLM int8": ("embedder=minilm_int8",),
    "bm25s and MiniLM, maxsim": ("embedder=minilm", "reranker=maxsim"),
}


UNITS = ("requests a second", "ms p99", "CPU ms a request", "MB", "s until ready")


@dataclass(frozen=True)
class Load:
    """What clients saw and a server took, in UNITS."""

    rate: float
    p99: float
    cpu: float
    memory: float
    ready: float


def write_corpus(folder: Path) -> None:
    """The documents of the handbook and 400 of Cranfield in one native set, with nothing asked."""
    documents = HANDBOOK / "documents"
    texts = {f"handbook/{path.relative_to(documents)}": path.read_text("utf-8") for path in documents.rglob("*.*")}
    rows = map(json.loads, (public("beir/cranfield") / "corpus.jsonl").read_text("utf-8").splitlines()[:400])
    texts |= {f"cranfield/{int(row['_id']):04}.txt": row["text"] for row in rows if row["text"].strip()}
    for name, text in texts.items():
        path = folder / "documents" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    (folder / "questions.jsonl").write_text("", "utf-8")


def write_bodies(path: Path) -> None:
    """Requests with the questions of both sets, all different: nothing that a server remembers helps it."""
    files = (HANDBOOK / "questions.jsonl", public("beir/cranfield") / "queries.jsonl")
    texts = [json.loads(line)["text"] for file in files for line in file.read_text("utf-8").splitlines()]
    path.write_text("\n".join(json.dumps({"question": f"{turn} {text}"}) for turn in range(100) for text in texts), "utf-8")


@contextmanager
def started(command: Sequence[str], port: int) -> Iterator[tuple[psutil.Process, float]]:
    """A server in a process group of its own, and the seconds until it was ready."""
    began, probe = (
        time.perf_counter(),
        ["curl", "--silent", "--fail", "--output", os.devnull, f"http://127.0.0.1:{port}/readyz"],
    )
    with Path("server.log").open("wb") as log:
        process = subprocess.Popen(command, env=os.environ | {"RAG_RATE": "0"}, stdout=log, stderr=log, start_new_session=True)
    try:
        while subprocess.run(probe, check=False).returncode:
            if process.poll() is not None or time.perf_counter() - began > 300:
                raise OSError(f"the server did not start: {Path('server.log').read_text('utf-8')[-2000:]}")
            time.sleep(0.05)
        yield psutil.Process(process.pid), time.perf_counter() - began
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def used(server: psutil.Process) -> tuple[float, float]:
    """Processor seconds and MB of a process and its children."""
    family = [server, *server.children(recursive=True)]
    return sum(sum(each.cpu_times()[:2]) for each in family), sum(each.memory_info().rss for each in family) / 1e6


def asked(port: int, seconds: float) -> dict[str, Any]:
    """What a crowd in a process of its own saw."""
    crowd = [sys.executable, str(Path(__file__).with_name("load.py")), f"127.0.0.1:{port}", "/search"]
    ended = subprocess.run([*crowd, str(CLIENTS), str(seconds), "bodies.jsonl"], capture_output=True, check=True)
    told: dict[str, Any] = json.loads(ended.stdout)
    if list(told["statuses"]) != ["200"]:
        raise OSError(f"the server answered with {told['statuses']}")
    return told


def loaded(command: Sequence[str], port: int) -> Load:
    """Figures under load, after a little of it to warm up."""
    with started([*command, "--port", str(port)], port) as (server, ready):
        asked(port, 2)
        before, _ = used(server)
        told = asked(port, LOAD)
        after, memory = used(server)
    return Load(told["a_second"], 1000 * told["shares"]["0.99"], 1000 * (after - before) / told["requests"], memory, ready)


def clients(folder: Path) -> Rows:
    """Searches over the handbook and abstracts of Cranfield; clients and server share the processors."""
    write_corpus(folder / "corpus")
    write_bodies(folder / "bodies.jsonl")
    Path("nothing.py").write_text(NOTHING, "utf-8")
    nothing = loaded([sys.executable, "-m", "uvicorn", "--log-level", "warning", "--no-access-log", "nothing:app"], free_port())
    for name, overrides in SERVED.items():
        bundle = name.replace(" ", "-").replace(",", "")
        seal(config_of(["dataset=native", "dataset.path=corpus", "generator=none", "store=store", *overrides]), Path(bundle))
        found = loaded([sys.executable, "-m", "rag", "serve", bundle], free_port())
        for unit, ours, theirs in zip(UNITS, astuple(found), astuple(nothing), strict=True):
            yield Row(f"rag serve, {name}", ours, unit, "a no-op handler", theirs)
