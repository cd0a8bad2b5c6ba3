"""Indexes over vector stores: names, half-filled collections, knobs that take effect, and what a user may do wrong."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import numpy as np
import psycopg
import pytest
from qdrant_client import QdrantClient, models
from support.choices import build
from support.databases import Postgres

from rag.core.errors import ConfigError, MissingExtraError, ServiceError
from rag.core.rankings import Rankings
from rag.core.types import Vectors
from rag.plugins.stores.stored_index import PREFIX, StoredSearcher


class Handler(BaseHTTPRequestHandler):
    """Routes of collections and points; `server.key` is the key that every request must have."""

    server: Any

    def _answer(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length)) if length else {}
        parts = [part for part in self.path.partition("?")[0].split("/") if part]
        self.server.seen.append((self.command, "/".join(parts[2:]), body))
        if self.server.key and self.headers.get("api-key") != self.server.key:
            return self._send(401, {"status": {"error": "Invalid API key"}})
        if not parts:
            return self._send(200, {"title": "qdrant", "version": self.server.version})
        found = self._found(self.server.engine, parts[1], "/".join(parts[2:]), body)
        return self._send(200, {"result": found, "status": "ok", "time": 0.0})

    def _found(self, engine: QdrantClient, name: str, what: str, body: Any) -> Any:
        if what == "exists":
            return {"exists": engine.collection_exists(name)}
        if what == "points/count":
            return {"count": engine.count(name).count}
        if what == "points":
            engine.upsert(name, models.Batch(**body["batch"]))
            return {"operation_id": 0, "status": "completed"}
        if what == "points/query":
            among = models.Filter(**body["filter"]) if body.get("filter") else None
            found = engine.query_points(name, body["query"]["nearest"], query_filter=among, limit=body["limit"]).points
            return {"points": [{"id": point.id, "version": 0, "score": point.score} for point in found]}
        if self.command == "PUT":
            return engine.create_collection(name, models.VectorParams(**body["vectors"]))
        return json.loads(engine.get_collection(name).model_dump_json())

    def _send(self, status: int, body: Any) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_PUT = do_POST = _answer  # noqa: N815

    def log_message(self, *arguments: Any) -> None:
        """Nothing."""


@contextmanager
def qdrant(key: str = "", version: str = "1.16.0") -> Iterator[Any]:
    """A server at `url`; `seen` has its requests, `engine` its collections."""
    server: Any = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.key, server.version, server.seen, server.engine = key, version, [], QdrantClient(":memory:")
    server.url = f"http://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


pytestmark = pytest.mark.usefixtures("vector_stores")
SECRET = "hunter2"
STORES = ("chroma", "pgvector", "qdrant")


def unit(seed: int, rows: int, dimensions: int = 32) -> Vectors:
    vectors = np.random.default_rng(seed).normal(size=(rows, dimensions))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


CHUNKS, ASKED = unit(1, 1200), unit(2, 20)


def opened(choice: str, vectors: Vectors = CHUNKS, **given: Any) -> StoredSearcher:
    searcher: StoredSearcher = build("index", choice, **given).open({"vectors": vectors})
    return searcher


def exact(depth: int, allowed: Any = True) -> Rankings:
    return Rankings.top(np.where(allowed, ASKED.astype(np.float64) @ CHUNKS.astype(np.float64).T, -np.inf), depth)


def overlap(found: Rankings, depth: int) -> float:
    pairs = zip(found.positions.tolist(), exact(depth).positions.tolist(), strict=True)
    return float(np.mean([len(set(some) & set(best)) / depth for some, best in pairs]))


@pytest.fixture
def tables(pg: Postgres, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A new database, and a connection to it."""
    url = pg.fresh()
    monkeypatch.setenv("PGVECTOR_URL", url)
    with psycopg.connect(url, autocommit=True) as connection:
        yield connection


def names(tables: Any) -> list[str]:
    return [row[0] for row in tables.execute("SELECT relname FROM pg_class WHERE relkind = 'r' AND relname LIKE 'assay%'")]


@pytest.mark.parametrize("choice", ["pgvector", "qdrant"])
@pytest.mark.parametrize("depth", [1, 10, 1200])
def test_exact_search_is_that_of_numpy(choice: str, depth: int) -> None:
    searcher, allowed = opened(choice), np.arange(len(CHUNKS)) % 3 == 0
    for found, gold in (
        (searcher.search([], ASKED, depth), exact(depth)),
        (searcher.search([], ASKED, depth, allowed), exact(min(depth, int(allowed.sum())), allowed)),
    ):
        assert found.positions.tolist() == gold.positions.tolist()
        assert found.scores.tolist() == gold.scores.tolist()


@pytest.mark.parametrize("choice", ["pgvector", "chroma"])
def test_ef_search_takes_effect(choice: str) -> None:
    graph = {"m": 3, "ef_construction": 8} | ({"method": "hnsw"} if choice == "pgvector" else {})
    little, much = (overlap(opened(choice, **graph, ef_search=ef).search([], ASKED, 3), 3) for ef in (1, 800))
    assert much > little + 0.1


def test_a_graph_of_postgres_finds_allowed_chunks_that_are_far_away() -> None:
    far = exact(1200).positions[0, -2:]
    allowed = np.isin(np.arange(len(CHUNKS)), far)
    for choice, given in (("pgvector", {"method": "hnsw", "ef_search": 1}), ("chroma", {})):
        assert opened(choice, **given).search([], ASKED[:1], 5, allowed).positions.tolist() == [far.tolist()]
        deep = opened(choice, **given).search([], ASKED[:1], 1150)
        assert (deep.positions >= 0).mean() > 0.9, "a search deeper than the largest ef_search continues in the graph"


@pytest.mark.parametrize("choice", STORES)
def test_a_name_tells_vectors_and_graphs_apart(choice: str) -> None:
    graph = {"method": "hnsw"} if choice == "pgvector" else {}
    searchers = [
        *(opened(choice, vectors) for vectors in (CHUNKS[:9], CHUNKS[:8], CHUNKS[:9, ::-1])),
        *((opened(choice, CHUNKS[:9], m=m, **graph) for m in (4, 5)) if choice != "qdrant" else ()),
    ]
    assert len({searcher.name for searcher in searchers}) == len(searchers)
    assert all(searcher.name.startswith(PREFIX) for searcher in searchers)
    assert opened(choice, CHUNKS[:9].copy()).name == searchers[0].name


def test_a_half_filled_collection_is_continued() -> None:
    index = build("index", "chroma")
    whole = StoredSearcher(CHUNKS, index)
    config = {"hnsw": {"space": "ip", "sync_threshold": 1200}}
    half = index.client.get_or_create_collection(whole.name, embedding_function=None, configuration=config)
    half.upsert([str(number) for number in range(500)], CHUNKS[:500])
    assert overlap(opened("chroma").search([], ASKED, 10), 10) > 0.9
    assert half.count() == 1200
    few = opened("chroma", CHUNKS[:300])  # A small graph is written too, or each process would build its own.
    assert few.index.client.get_collection(few.name).configuration["hnsw"]["sync_threshold"] == 300
    with qdrant() as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("QDRANT_URL", server.url)
        opened("qdrant", CHUNKS[:500])
        (name,) = (one.name for one in server.engine.get_collections().collections)
        complete = StoredSearcher(CHUNKS, build("index", "qdrant")).name
        server.engine._client.collections[complete] = server.engine._client.collections.pop(name)
        assert opened("qdrant").search([], ASKED, 10).positions.tolist() == exact(10).positions.tolist()
        written = [body["batch"]["ids"][0] for verb, what, body in server.seen if (verb, what) == ("PUT", "points")]
        assert written == [0, 500]


def test_a_store_that_lost_chunks_is_no_shorter_ranking(tables: Any) -> None:
    searcher = opened("pgvector")
    tables.execute(psycopg.sql.SQL("DELETE FROM {} WHERE position < 1190").format(psycopg.sql.Identifier(searcher.name)))
    with pytest.raises(ServiceError, match=r"other chunks than were written.*\n.*drop it"):
        searcher.search([], ASKED, 10)


def test_a_qdrant_server_gets_exact_requests_and_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    allowed = np.arange(len(CHUNKS)) < 40
    with qdrant(key=SECRET) as server:
        monkeypatch.setenv("QDRANT_URL", server.url)
        with pytest.raises(ServiceError, match="401") as error:
            opened("qdrant")
        assert "finished stages are kept" in str(error.value)
        monkeypatch.setenv("QDRANT_API_KEY", SECRET)
        assert opened("qdrant").search([], ASKED, 9, allowed).positions.tolist() == exact(9, allowed).positions.tolist()
        asked = [body for _, what, body in server.seen if what == "points/query"]
        assert {body["params"]["exact"] for body in asked} == {True}
        assert all(body["filter"]["must"][0]["has_id"] == list(range(40)) for body in asked)
        graph = opened("qdrant", method="hnsw", ef_search=300)
        graph.search([], ASKED[:1], 9)
        assert server.seen[-1][2]["params"] == {"exact": False, "hnsw_ef": 300}
    with qdrant(version="1.9.2") as server:
        monkeypatch.setenv("QDRANT_URL", server.url)
        with pytest.raises(ServiceError, match=r"has version 1\.9\.2, and 1\.10 is needed"):
            opened("qdrant")


@pytest.mark.parametrize("choice", STORES)
@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "postgresql://someone:hunter2@127.0.0.1:1/x?password=hunter2"])
def test_a_server_that_does_not_answer(choice: str, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"{choice.upper()}_URL", url)
    fits = (choice == "pgvector") == url.startswith("postgresql")
    with pytest.raises(ServiceError if fits else ConfigError) as error:
        opened(choice)
    assert SECRET not in str(error.value)
    assert ("127.0.0.1:1" in str(error.value)) == fits


@pytest.mark.parametrize("choice", STORES)
@pytest.mark.parametrize("rest", ["user:hunter2@host", "host?password=hunter2", "[host", "host:port"])
def test_a_config_holds_no_password(choice: str, rest: str) -> None:
    scheme = "postgresql" if choice == "pgvector" else "https"
    with pytest.raises(ConfigError, match=f"index.{choice}.runtime.url") as error:
        build("index", choice, runtime={"url": f"{scheme}://{rest}"})
    assert SECRET not in str(error.value)


def test_a_url_that_psycopg_refuses_is_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGVECTOR_URL", f"postgresql://user:{SECRET}@host/db?odd={SECRET}")
    with pytest.raises(ConfigError, match="PGVECTOR_URL: is not a valid URL") as error:
        opened("pgvector")
    assert SECRET not in str(error.value)


def test_what_a_store_cannot_do(tables: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match=r"at most 2,000 dimensions, and these have 2,001"):
        opened("pgvector", unit(1, 3, 2001), method="hnsw")
    assert opened("pgvector", unit(1, 3, 2001)).search([], unit(1, 1, 2001), 1).positions.tolist() == [[0]]
    with pytest.raises(ConfigError, match="the engine in memory has no graph"):
        opened("qdrant", method="hnsw")
    tables.execute("UPDATE pg_extension SET extversion = '0.7.4' WHERE extname = 'vector'")
    with pytest.raises(ServiceError, match=r"has version 0\.7\.4, and 0\.8 is needed\n.*ALTER EXTENSION"):
        opened("pgvector")
    monkeypatch.delenv("PGVECTOR_URL")
    with pytest.raises(ConfigError, match=r"names no server\n.*export PGVECTOR_URL"):
        opened("pgvector")


@pytest.mark.parametrize(("choice", "package"), [("chroma", "chromadb"), ("qdrant", "qdrant_client"), ("pgvector", "pgvector")])
def test_a_missing_client_is_named(choice: str, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError) as error:
        opened(choice)
    assert error.value.extra == choice
