"""A real HTTP server that speaks `/rerank` of text-embeddings-inference, and of Jina, Cohere and vLLM.

The forms are those of https://huggingface.github.io/text-embeddings-inference (RerankRequest, Rank, Info, ErrorResponse) and of
https://docs.cohere.com/reference/rerank. A score is the share of words that question and passage have in common.
"""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MODEL = "BAAI/bge-reranker-base"
Reply = Callable[[list[dict[str, Any]]], tuple[int, Any]]


class RerankServer(ThreadingHTTPServer):
    """`replies` replace the next replies; `most` is the limit of passages, as TEI has one."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Exchange)
        self.asked: list[tuple[str, str | None, Any]] = []
        self.replies: list[Reply] = []
        self.most, self.info = 4, {"model_id": MODEL, "model_sha": "2cfc18c9", "max_client_batch_size": 4}
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        """The address before `/rerank`."""
        return f"http://127.0.0.1:{self.server_port}"


def common(query: str, text: str) -> float:
    """The score of a pair."""
    one, two = set(query.lower().split()), set(text.lower().split())
    return len(one & two) / max(len(one | two), 1)


class Exchange(BaseHTTPRequestHandler):
    """One request."""

    protocol_version = "HTTP/1.1"
    server: RerankServer

    def do_GET(self) -> None:
        self._send(200, self.server.info)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        tei = "texts" in body
        texts = body["texts" if tei else "documents"]
        with self.server.lock:
            self.server.asked.append((self.path, self.headers["Authorization"], body))
            instead = self.server.replies.pop(0) if self.server.replies else None
        if len(texts) > self.server.most:
            what = f"batch size {len(texts)} > maximum allowed batch size {self.server.most}"
            return self._send(413, {"error": what, "error_type": "Validation"})
        name = "score" if tei else "relevance_score"
        rows = [{"index": place, name: common(body["query"], text)} for place, text in enumerate(texts)]
        rows = sorted(rows, key=lambda row: -row[name])
        status, reply = instead(rows) if instead else (200, rows if tei else {"id": "1", "results": rows})
        self._send(status, reply)

    def _send(self, status: int, reply: Any) -> None:
        data = reply if isinstance(reply, bytes) else json.dumps(reply).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        if status in (429, 500):
            self.send_header("retry-after-ms", "1")
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def rerank_server() -> Iterator[RerankServer]:
    """A server until the block ends."""
    with RerankServer() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
