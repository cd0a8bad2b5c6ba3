"""A real HTTP server with OpenAI's chat completions, and Anthropic's messages, whose every answer is scripted.

    with serving(say("Seven [1]."), too_many(seconds=1), cut()) as script:
        ...  # base_url=script.url; script.asked holds the bodies, script.keys the Authorization headers

Steps are played one per request, the last one for ever. A step answers streamed where a stream was asked for.
"""

import json
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

USAGE = {"prompt_tokens": 30, "completion_tokens": 4}
SOON = {"retry-after-ms": "1"}
"""A header that makes the client try again at once."""


class Script(ThreadingHTTPServer):
    """Plays its steps and keeps what it was asked: bodies, Authorization headers, and when."""

    daemon_threads = True

    def __init__(self, *steps: "Step") -> None:
        super().__init__(("127.0.0.1", 0), Exchange)
        self.steps: list[Step] = list(steps)
        self.asked: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.headers: list[dict[str, str]] = []
        self.moments: list[float] = []
        self.under_way = self.most_at_once = 0
        self.info: object = None
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        """What goes into base_url."""
        return f"http://127.0.0.1:{self.server_port}/v1"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that has gone is part of the script."""


class Exchange(BaseHTTPRequestHandler):
    """One request; `asked` is its body, `question` the text of its last message."""

    protocol_version = "HTTP/1.1"
    server: Script

    def do_GET(self) -> None:
        send(200, self.server.info)(self)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with self.server.lock:
            self.asked = json.loads(body)
            self.question = str(self.asked.get("messages", [{"content": ""}])[-1]["content"])
            steps = self.server.steps
            step = steps.pop(0) if len(steps) > 1 else steps[0]
            self.server.asked.append(self.asked)
            self.server.keys.append(self.headers["Authorization"] or self.headers["x-api-key"])
            self.server.headers.append(dict(self.headers.items()))
            self.server.moments.append(time.monotonic())
            self.server.under_way += 1
            self.server.most_at_once = max(self.server.most_at_once, self.server.under_way)
        try:
            step(self)
        finally:
            with self.server.lock:
                self.server.under_way -= 1

    @property
    def streams(self) -> bool:
        """Whether a stream was asked for."""
        return bool(self.asked.get("stream"))

    def log_message(self, format: str, *args: object) -> None:
        pass


Step = Callable[[Exchange], None]


@contextmanager
def serving(*steps: Step) -> Iterator[Script]:
    """A server that plays these steps until the block ends."""
    with Script(*steps) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def send(status: int, body: object, headers: dict[str, str] | None = None) -> Step:
    """A status with a body, bytes or JSON."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()

    def step(exchange: Exchange) -> None:
        exchange.send_response(status)
        for name, value in ({"Content-Type": "application/json", "Content-Length": str(len(data))} | (headers or {})).items():
            exchange.send_header(name, value)
        exchange.end_headers()
        exchange.wfile.write(data)

    return step


def say(text: str | list[Any] | None, usage: object = USAGE, finish: str = "stop", model: str = "tiny", **fields: Any) -> Step:
    """A whole reply, its message with further `fields`; streamed word by word where that was asked for, the fields first."""

    def step(exchange: Exchange) -> None:
        if exchange.path.endswith("/messages"):
            return claude(str(text or ""), usage)(exchange)
        if exchange.streams:
            words = [text] if isinstance(text, list) else re.findall(r"\S+\s*|\s+", text or "")
            stream(*([fields] if fields else []), *words, finish=finish, usage=usage)(exchange)
            return
        choice = {"message": {"role": "assistant", "content": text, **fields}, "finish_reason": finish}
        send(200, {"model": model, "choices": [choice], "usage": usage})(exchange)

    return step


def claude(text: str, usage: Any = None, stop: str = "end_turn", **ending: Any) -> Step:
    """A message of Anthropic's API, streamed word by word where that was asked for; `ending` replaces the last two events.

    https://platform.claude.com/docs/en/build-with-claude/streaming has the events.
    """
    counts = usage or {"input_tokens": 30, "output_tokens": 4}

    def step(exchange: Exchange) -> None:
        content = [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": text}]
        message = {"type": "message", "role": "assistant", "content": content, "stop_reason": stop, "usage": counts}
        if not exchange.streams:
            return send(200, message)(exchange)
        deltas = [{"type": "thinking_delta", "thinking": "Hm."}]
        deltas += [{"type": "text_delta", "text": piece} for piece in re.findall(r"\S+\s*", text)]
        end = [
            {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 4}},
            {"type": "message_stop"},
        ]
        start = {**message, "content": [], "stop_reason": None, "usage": {**counts, "output_tokens": 1}}
        events = [{"type": "message_start", "message": start}, {"type": "ping"}]
        events += [{"type": "content_block_delta", "index": 0, "delta": delta} for delta in deltas]
        _begin(exchange)
        for event in [*events, *([ending] if ending else end)]:
            exchange.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())

    return step


def answer(reply: Callable[[str], str], usage: object = USAGE) -> Step:
    """A reply that is made of the text of the last message."""
    return lambda exchange: say(reply(exchange.question), usage)(exchange)


def error(status: int, message: str = "no", headers: dict[str, str] | None = None, code: str | None = None) -> Step:
    """An error as OpenAI words it."""
    return send(status, {"error": {"message": message, "code": code}}, headers)


def too_many(seconds: float = 0.001) -> Step:
    """429 with Retry-After, below a second in milliseconds."""
    wait = {"Retry-After": f"{seconds:g}"} if seconds >= 1 else {"retry-after-ms": f"{1000 * seconds:g}"}
    return error(429, "Rate limit reached", wait)


def broken(status: int = 500) -> Step:
    """A server error that may be tried again at once."""
    return error(status, "The server had an error", SOON)


def wrong_key() -> Step:
    """401, the key repeated as some servers do."""

    def step(exchange: Exchange) -> None:
        key = str(exchange.headers["Authorization"]).removeprefix("Bearer ")
        error(401, f"Incorrect API key provided: {key}", code="invalid_api_key")(exchange)

    return step


def unknown_model() -> Step:
    """404 for the model that was asked for."""

    def step(exchange: Exchange) -> None:
        error(404, f"The model {exchange.asked['model']!r} does not exist", code="model_not_found")(exchange)

    return step


def too_long() -> Step:
    """400: the messages do not fit into the model's window."""
    said = "This model's maximum context length is 8192 tokens. However, your messages resulted in 20000 tokens."
    return error(400, said, code="context_length_exceeded")


def empty(finish: str = "stop") -> Step:
    """A reply without text."""
    return say("", finish=finish)


def prose() -> Step:
    """Words where JSON was asked for."""
    return say("Sure! Here is what I think about that: it is fine.")


def hang_up(exchange: Exchange) -> None:
    """The connection is closed without a word."""
    exchange.close_connection = True
    with suppress(OSError):
        exchange.connection.shutdown(socket.SHUT_RDWR)


def slow(seconds: float, then: Step | None = None) -> Step:
    """Nothing for a while, then a step."""

    def step(exchange: Exchange) -> None:
        time.sleep(seconds)
        (then or say("At last."))(exchange)

    return step


def cut(*pieces: str) -> Step:
    """A reply, streamed in chunks or whole, whose connection is closed in the middle."""

    def step(exchange: Exchange) -> None:
        if exchange.streams:
            _begin(exchange, chunked=True)
            for piece in pieces or ("The ferry ", "leaves "):
                _chunk(exchange, event({"content": piece}))
            exchange.wfile.write(b"80\r\ndata: {")
        else:
            send(200, b'{"choices": [{"mess', {"Content-Length": "999"})(exchange)
        exchange.wfile.flush()
        hang_up(exchange)

    return step


def stream(
    *pieces: Any, ending: bytes | None = None, finish: str | None = "stop", wait: float = 0.0, usage: object = None
) -> Step:
    """Server-sent events, closed by the end of the connection; `ending` replaces the last event, `wait` is before each.

    A piece is a text or a delta. `usage` follows the last one if the request asks for it.
    """

    def step(exchange: Exchange) -> None:
        _begin(exchange)
        for piece in pieces:
            time.sleep(wait)
            exchange.wfile.write(event(piece if isinstance(piece, dict) else {"content": piece}))
            exchange.wfile.flush()
        counted = b"" if usage is None or not exchange.asked.get("stream_options") else _counted(usage)
        exchange.wfile.write(ending if ending is not None else event({}, finish) + counted + b"data: [DONE]\n\n")

    return step


def _begin(exchange: Exchange, *, chunked: bool = False) -> None:
    exchange.close_connection = True
    exchange.send_response(200)
    exchange.send_header("Content-Type", "text/event-stream")
    if chunked:
        exchange.send_header("Transfer-Encoding", "chunked")
    exchange.end_headers()


def _chunk(exchange: Exchange, data: bytes) -> None:
    exchange.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")


def event(delta: dict[str, Any], finish_reason: str | None = None) -> bytes:
    """A piece of a stream."""
    return b"data: " + json.dumps({"choices": [{"delta": delta, "finish_reason": finish_reason}]}).encode() + b"\n\n"


def _counted(usage: object) -> bytes:
    return b"data: " + json.dumps({"choices": [], "usage": usage}).encode() + b"\n\n"
