"""Throughput of a server: 16 clients without pauses, two processors in all, and MLflow's server with an empty model.

Retrieval over the handbook and Cranfield in one corpus, every question another one. `RAG_SOAK` is how many seconds the long run
takes (300), `RAG_LOAD` each short one (20).
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from bench.measuring import DATA, ROOT, Report, needs_data
from support.ports import free_port

from rag.bundle.seal import seal
from rag.execution.sweep.open_config import config_of

pytestmark = [pytest.mark.bench, needs_data]

CLIENTS = 16
RATE, SLOWEST = 200, 0.25
"""What is asked of retrieval: questions a second, and seconds that 99 of 100 take at most."""
GROWTH = 0.05
"""By how much of itself a server's memory may grow while it is soaked."""
LOAD, SOAK = (float(os.environ.get(name, default)) for name, default in (("RAG_LOAD", "20"), ("RAG_SOAK", "300")))
HANDBOOK, CRANFIELD = ROOT / "datasets" / "handbook", DATA / "beir" / "cranfield"
MISSING = "mlflow models serve, a model that does nothing"
NOTHING = """
import mlflow


class Nothing(mlflow.pyfunc.PythonModel):
    def predict(self, context, model_input, params=None):
        return [""] * len(model_input)


mlflow.models.set_model(Nothing())
"""


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A golden set in the native format with the documents of both, and nothing asked."""
    folder = tmp_path_factory.mktemp("both")
    handbook = HANDBOOK / "documents"
    documents = {f"handbook/{path.relative_to(handbook)}": path.read_text("utf-8") for path in handbook.rglob("*.*")}
    rows = map(json.loads, (CRANFIELD / "corpus.jsonl").read_text("utf-8").splitlines())
    documents |= {f"cranfield/{int(row['_id']):04}.txt": row["text"] for row in rows if row["text"].strip()}
    for name, text in documents.items():
        path = folder / "documents" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return folder


@pytest.fixture(scope="module")
def questions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """More different bodies than are sent at once: the questions of both in another order each time, one token longer."""
    files = (HANDBOOK / "questions.jsonl", CRANFIELD / "queries.jsonl")
    texts = [json.loads(line)["text"] for file in files for line in file.read_text("utf-8").splitlines()]
    draw = random.Random(0)
    rounds = [draw.sample(texts, len(texts)) for _ in range(150)]
    bodies = [
        json.dumps({"question": f"{number} {text}" if number else text}) for number, row in enumerate(rounds) for text in row
    ]
    path = tmp_path_factory.mktemp("asked") / "bodies.jsonl"
    path.write_text("\n".join(bodies), "utf-8")
    return path


@contextmanager
def process(command: Sequence[str], ready: str, **environment: str) -> Iterator["subprocess.Popen[bytes]"]:
    """A server in a process group of its own, which answers at `ready`."""
    log = Path("server.log")
    with log.open("wb") as file:
        started = subprocess.Popen(
            command, env=os.environ | environment, stdout=file, stderr=file, start_new_session=True, bufsize=0
        )
    try:
        deadline = time.monotonic() + 300
        probe = ["curl", "--silent", "--fail", "--output", os.devnull, ready]
        while subprocess.run(probe, check=False).returncode and started.poll() is None and time.monotonic() < deadline:
            time.sleep(0.2)
        assert started.poll() is None, log.read_text("utf-8")
        yield started
    finally:
        os.killpg(started.pid, signal.SIGKILL)
        started.wait()


def asked(address: str, path: str, bodies: Path, seconds: float) -> dict[str, Any]:
    """What a crowd in a process of its own saw."""
    command = [sys.executable, str(Path(__file__).with_name("load.py")), address, path]
    ended = subprocess.run([*command, str(CLIENTS), str(seconds), str(bodies)], capture_output=True, check=True)
    told: dict[str, Any] = json.loads(ended.stdout)
    assert list(told["statuses"]) == ["200"], told["statuses"]
    return told


def used(pid: int) -> tuple[float, int]:
    """Processor seconds of a process group so far, and the bytes that it holds in memory."""
    ticks = os.sysconf("SC_CLK_TCK")
    seconds, held = 0.0, 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            _, rest = stat.read_text("utf-8").rsplit(")", 1)
        except OSError:  # it has just ended
            continue
        parts = rest.split()
        if int(parts[2]) == pid:
            seconds += (int(parts[11]) + int(parts[12])) / ticks
            held += int(parts[21]) * os.sysconf("SC_PAGE_SIZE")
    return seconds, held


@contextmanager
def assay(corpus: Path, embedder: str) -> Iterator[tuple[str, int]]:
    """Address and process of `rag serve` around a bundle of that corpus."""
    overrides = ["dataset=native", f"dataset.path={corpus}", f"embedder={embedder}", "generator=none", "store=store"]
    seal(config_of(overrides), Path(embedder))
    port = free_port()
    command = [sys.executable, "-m", "rag", "serve", embedder, "--port", str(port)]
    with process(command, f"http://127.0.0.1:{port}/readyz", RAG_RATE="0") as server:
        yield f"127.0.0.1:{port}", server.pid


@contextmanager
def nothing() -> Iterator[tuple[str, int]]:
    """Address and process of `mlflow models serve` around a model that does nothing."""
    import mlflow
    import pandas

    Path("nothing.py").write_text(NOTHING, "utf-8")
    signature = mlflow.models.infer_signature(pandas.DataFrame({"question": ["?"]}), [""])
    mlflow.pyfunc.save_model("nothing", python_model="nothing.py", signature=signature)
    port = free_port()
    command = [sys.executable, "-m", "mlflow", "models", "serve", "-m", "nothing", "--env-manager", "local"]
    # MLflow starts uvicorn by its name.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    with process([*command, "--host", "127.0.0.1", "--port", str(port)], f"http://127.0.0.1:{port}/ping", PATH=path) as server:
        yield f"127.0.0.1:{port}", server.pid


def measured(address: str, pid: int, path: str, bodies: Path) -> dict[str, Any]:
    """Figures under load, after a little of it to warm up."""
    asked(address, path, bodies, 3)
    before, _ = used(pid)
    told = asked(address, path, bodies, LOAD)
    return told | {"cpu": (used(pid)[0] - before) / told["requests"]}


def row(report: Report, name: str, told: Mapping[str, Any], baseline: Mapping[str, Any] | None) -> None:
    shares = told["shares"]
    waits = [1000 * shares[share] for share in ("0.5", "0.95", "0.99")]
    crowd = 1000 * told["crowd_cpu"] / told["requests"]
    ratio = told["a_second"] / baseline["a_second"] if baseline else None
    report.row(name, told["a_second"], *waits, 1000 * told["max"], 1000 * told["cpu"], crowd, ratio)


def test_sixteen_clients(bench: Path, corpus: Path, questions: Path) -> None:
    columns = ("server", "a second", "p50 ms", "p95 ms", "p99 ms", "max ms", "CPU ms each", "of clients", "times MLflow")
    report = Report(f"{CLIENTS} clients, {LOAD:g} s, {os.cpu_count()} processors for servers and clients", columns)
    rows = ([json.loads(line)["question"]] for line in questions.read_text("utf-8").splitlines())
    frames = bench / "frames.jsonl"
    frames.write_text(
        "\n".join(json.dumps({"dataframe_split": {"columns": ["question"], "data": [row]}}) for row in rows), "utf-8"
    )
    with nothing() as (address, pid):
        baseline = measured(address, pid, "/invocations", frames)
    row(report, MISSING, baseline, None)
    for embedder in ("static", "minilm"):
        with assay(corpus, embedder) as (address, pid):
            told = measured(address, pid, "/search", questions)
        row(report, f"rag serve, POST /search, bm25s and dense ({embedder})", told, baseline)
        held = told["a_second"] >= RATE and told["shares"]["0.99"] <= SLOWEST
        report.note(f"{embedder}: {'holds' if held else 'misses'} {RATE} a second with p99 of {1000 * SLOWEST:g} ms at most")
    report.note(f"load of this machine before and while: {', '.join(f'{value:.1f}' for value in os.getloadavg())}")
    report.show()


@pytest.mark.parametrize("embedder", ["static", "minilm"])
def test_memory_stays_what_it_is(bench: Path, corpus: Path, questions: Path, embedder: str) -> None:
    report = Report(f"Soaked for {SOAK:g} s by {CLIENTS} clients, {embedder}", ("after s", "requests", "MB"))
    with assay(corpus, embedder) as (address, pid):
        part, total = SOAK / 10, 0
        held = []
        for number in range(1, 11):
            total += asked(address, "/search", questions, part)["requests"]
            held.append(used(pid)[1])
            report.row(f"{number * part:g}", total, held[-1] / 1e6)
    # The first tenth warms up: pools of memory find their size.
    grown = held[-1] / held[0] - 1
    report.note(f"grown by {100 * grown:.1f} % since the first tenth; {100 * GROWTH:g} % are allowed")
    report.show()
    assert grown < GROWTH
