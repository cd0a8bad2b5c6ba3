"""Vector stores with real servers and processes that are killed, and a sweep and a bundle over them."""

import multiprocessing
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import psycopg
import pytest
from support.choices import build
from support.databases import Postgres
from support.ports import free_port

from rag.components.indexes.faiss_flat import FlatSearcher
from rag.core.errors import ServiceError
from rag.core.types import Vectors

pytestmark = pytest.mark.system
TABLES = "SELECT count(*) FROM pg_class WHERE relkind = 'r' AND relname LIKE 'assay%'"


def unit(seed: int, rows: int, dimensions: int = 16) -> Vectors:
    vectors = np.random.default_rng(seed).normal(size=(rows, dimensions))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


CHUNKS, ASKED = unit(1, 800), unit(2, 5)
GOLD = FlatSearcher(CHUNKS).search([], ASKED, 5).positions.tolist()


def first_hits(choice: str) -> list[list[int]]:
    index = build("index", choice)
    return index.open(index.build([], CHUNKS)).search([], ASKED, 5).positions.tolist()  # type: ignore[no-any-return]


def test_processes_that_build_at_once_share_one_table(pg: Postgres, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGVECTOR_URL", url := pg.fresh())
    with multiprocessing.get_context("fork").Pool(3) as pool:
        assert pool.map(first_hits, ["pgvector"] * 3) == [GOLD] * 3
    with psycopg.connect(url) as connection:
        assert connection.execute(TABLES).fetchone() == (1,)


def test_processes_share_a_folder_of_chroma(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    code = "import test_index_stores_killed as it; assert it.first_hits('chroma') == it.GOLD"
    folders = [str(Path(__file__).parent), str(Path(__file__).parents[2])]
    command = [sys.executable, "-c", f"import sys; sys.path[:0] = {folders!r}; {code}"]
    other = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    while other.poll() is None:
        assert first_hits("chroma") == GOLD
    assert (other.communicate()[1], other.returncode) == ("", 0)
    assert first_hits("chroma") == GOLD


def test_a_killed_build_leaves_no_table(pg: Postgres, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGVECTOR_URL", url := pg.fresh())
    build("index", "pgvector").open({"vectors": CHUNKS[:1]})  # makes the extension
    with psycopg.connect(url, autocommit=True) as connection:
        work = multiprocessing.get_context("fork").Process(
            target=lambda: build("index", "pgvector").build([], unit(3, 40_000, 64))
        )
        work.start()
        until = time.monotonic() + 60
        while not connection.execute("SELECT 1 FROM pg_stat_activity WHERE query LIKE 'COPY%'").fetchone():
            assert work.is_alive(), "the build ended before it was killed"
            assert time.monotonic() < until
        work.kill()
        work.join()
        assert connection.execute(TABLES).fetchone() == (1,)
        assert build("index", "pgvector").build([], unit(3, 40_000, 64))["vectors"].shape == (40_000, 64)
        assert connection.execute(TABLES).fetchone() == (2,)


def test_a_server_of_postgres_that_dies_between_searches(pg: Postgres, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGVECTOR_URL", pg.fresh())
    index = build("index", "pgvector")
    searcher = index.open(index.build([], CHUNKS))
    pg.crash()
    try:
        for _ in range(2):
            with pytest.raises(ServiceError, match=r"index\.pgvector: postgresql://.* fails: .*\n.*finished stages are kept"):
                searcher.search([], ASKED, 5)
    finally:
        pg.start()
    assert searcher.search([], ASKED, 5).positions.tolist() == GOLD


def test_a_wrong_password_is_not_shown(pg: Postgres, monkeypatch: pytest.MonkeyPatch) -> None:
    url = pg.fresh()
    with psycopg.connect(url, autocommit=True) as connection:
        rules = Path(connection.execute("SHOW hba_file").fetchone()[0])  # type: ignore[index]
        connection.execute("CREATE ROLE guest LOGIN PASSWORD 'right'")
        before = rules.read_text()
        rules.write_text("local all guest scram-sha-256\n" + before)
        connection.execute("SELECT pg_reload_conf()")
        monkeypatch.setenv("PGVECTOR_URL", url.replace("postgres:@", "guest:hunter2@"))
        with pytest.raises(ServiceError, match="password authentication failed") as error:
            first_hits("pgvector")
        assert "hunter2" not in str(error.value)
        rules.write_text(before)
        connection.execute("SELECT pg_reload_conf()")


@contextmanager
def chroma(folder: Path, port: int) -> Iterator[subprocess.Popen[bytes]]:
    """The server that the package brings, until it answers."""
    command = [shutil.which("chroma", path=str(Path(sys.executable).parent)) or "chroma", "run"]
    server = subprocess.Popen([*command, "--path", str(folder), "--port", str(port)], stdout=subprocess.DEVNULL)
    try:
        until = time.monotonic() + 60
        while time.monotonic() < until:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield server
    finally:
        server.send_signal(signal.SIGKILL)
        server.wait()


def test_a_server_of_chroma_is_killed_and_comes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    port = free_port()
    monkeypatch.setenv("CHROMA_URL", f"http://127.0.0.1:{port}")
    index = build("index", "chroma")
    with chroma(tmp_path / "data", port):
        searcher = index.open(index.build([], CHUNKS))
        assert searcher.search([], ASKED, 5).positions.tolist() == GOLD
    with pytest.raises(ServiceError, match=rf"index\.chroma: http://127\.0\.0\.1:{port} fails"):
        searcher.search([], ASKED, 5)
    with chroma(tmp_path / "data", port):
        assert searcher.search([], ASKED, 5).positions.tolist() == GOLD
        assert index.client.get_collection(searcher.name, embedding_function=None).count() == len(CHUNKS)
