"""The requests that we send to a Qdrant server, answered by the client's own engine in memory.

No package has the server itself. The client, its requests and their models are the real ones.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from qdrant_client import QdrantClient, models


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
