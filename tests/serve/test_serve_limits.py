"""How much may be asked, how often, how long, and what is answered where that is too much."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from fastapi import Request, Response
from support.small_server import ALICE, BOB, TWO_KEYS, ask, bearer, echo, guarded, small_app, small_bundle, stream_of, talk

from rag.serve.limits import Buckets

PIECE = b"event: piece\ndata: {}\n\n"


def test_a_body_of_just_the_size_goes_through() -> None:
    app = guarded(echo, body_bytes=2000)
    assert ask(app, content=b"x" * 2000).text == "anyone 2000"


def test_a_longer_body_is_refused_before_it_is_read_when_it_says_so() -> None:
    async def never() -> AsyncIterator[bytes]:
        raise AssertionError("the body was read")
        yield b""

    found = ask(guarded(echo, body_bytes=2000), content=never(), headers={"Content-Length": "2001"})
    assert (found.status_code, found.headers["connection"]) == (413, "close")
    assert found.json()["remedy"] == "send less; RAG_BODY_BYTES sets the limit"


def test_a_body_that_does_not_say_its_size_is_refused_as_soon_as_it_is_too_long() -> None:
    read = []

    async def pieces() -> AsyncIterator[bytes]:
        for piece in range(1000):
            read.append(piece)
            yield b"x" * 500

    assert ask(guarded(echo, body_bytes=2000), content=pieces()).status_code == 413
    assert len(read) == 5


def test_a_body_may_lie_about_its_size_only_downwards() -> None:
    found = ask(guarded(echo, body_bytes=2000), content=b"x" * 3000, headers={"Content-Length": "10"})
    assert found.status_code == 413


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_key_that_asks_too_often_waits_as_long_as_it_is_told() -> None:
    clock = Clock()
    app = guarded(echo, clock, keys=TWO_KEYS, rate=6, burst=3)

    async def asking(client: httpx.AsyncClient) -> list[tuple[int, str | None]]:
        async def one(key: str = ALICE) -> tuple[int, str | None]:
            found = await client.post("/ask", headers=bearer(key))
            return found.status_code, found.headers.get("retry-after")

        first = [await one() for _ in range(4)]
        other = await one(BOB)
        clock.now += 9
        early = await one()
        clock.now += 1
        return [*first, other, early, await one(), await one()]

    ok = (200, None)
    assert talk(app, asking) == [ok, ok, ok, (429, "10"), ok, (429, "1"), ok, (429, "10")]


def test_a_bucket_never_holds_more_than_its_burst() -> None:
    clock = Clock()
    buckets = Buckets(rate=1.0, burst=2, now=clock)
    assert [buckets.wait("a") for _ in range(3)] == [0.0, 0.0, 1.0]
    clock.now = 3600
    assert [buckets.wait("a") for _ in range(3)] == [0.0, 0.0, 1.0]


def test_health_and_the_page_do_not_count_and_need_no_turn() -> None:
    app = guarded(echo, Clock(), rate=1, burst=1)
    assert ask(app).status_code == 200
    assert ask(app).status_code == 429
    assert [ask(app, "/healthz", "GET").status_code for _ in range(5)] == [200] * 5


def test_no_rate_is_no_limit() -> None:
    app = guarded(echo, rate=0, burst=1)
    assert {ask(app).status_code for _ in range(10)} == {200}


def test_so_many_work_so_many_wait_and_the_next_is_told_to_come_back() -> None:
    entered, go = [], asyncio.Event()

    async def slow(request: Request) -> Response:
        entered.append(1)
        await go.wait()
        return Response("done")

    app = guarded(slow, workers=2, queue=3)

    async def crowd(client: httpx.AsyncClient) -> list[int]:
        async def one() -> int:
            found = await client.post("/ask")
            if found.status_code == 503:
                assert found.headers["retry-after"] == "1"
                assert found.json()["detail"] == "too many requests wait already"
                # When nobody else gets in, those who did may end.
                refused.append(1)
                if len(refused) == 4:
                    assert len(entered) == 2
                    assert (await client.get("/healthz")).status_code == 200
                    go.set()
            return found.status_code

        refused: list[int] = []
        return sorted(await asyncio.gather(*(one() for _ in range(9))))

    assert talk(app, crowd) == [200] * 5 + [503] * 4


def test_a_turn_is_given_back_whatever_becomes_of_the_request() -> None:
    async def failing(request: Request) -> Response:
        if await request.body() == b"well":
            return Response("done")
        raise RuntimeError("no")

    app = guarded(failing, workers=1, queue=0)
    assert [ask(app, content=body).status_code for body in (b"ill", b"ill", b"well")] == [500, 500, 200]


def test_a_slow_sender_keeps_nobody_waiting() -> None:
    app = guarded(echo, workers=1, queue=0)

    async def both(client: httpx.AsyncClient) -> list[str]:
        started, other_done = asyncio.Event(), asyncio.Event()

        async def drop_by_drop() -> AsyncIterator[bytes]:
            yield b"x"
            started.set()
            await other_done.wait()
            yield b"y"

        slow = asyncio.create_task(client.post("/ask", content=drop_by_drop()))
        await started.wait()
        quick = await client.post("/ask", content=b"abc")
        other_done.set()
        return [quick.text, (await slow).text]

    assert talk(app, both) == ["anyone 3", "anyone 2"]


async def endless(request: Request) -> Response:
    await asyncio.Event().wait()
    raise AssertionError


@pytest.mark.parametrize("path", ["/ask", "/v1/ask"])
def test_what_takes_too_long_is_broken_off(path: str) -> None:
    found = ask(guarded(endless, timeout=0.05), path)
    assert found.status_code == 504
    told = found.json()["error"]["message"] if path.startswith("/v1") else found.json()["detail"]
    assert told.startswith("not answered within 0.05 s")


def test_waiting_for_a_turn_counts_as_taking_time() -> None:
    app = guarded(endless, timeout=0.05, workers=1)

    async def two(client: httpx.AsyncClient) -> list[int]:
        return [found.status_code for found in await asyncio.gather(client.post("/ask"), client.post("/ask"))]

    assert talk(app, two) == [504, 504]


def test_a_body_that_never_ends_counts_as_taking_time() -> None:
    async def never() -> AsyncIterator[bytes]:
        yield b"x"
        await asyncio.Event().wait()

    assert ask(guarded(echo, timeout=0.05), content=never()).status_code == 504


@pytest.mark.parametrize(
    ("path", "last"),
    [
        ("/ask", b'event: error\ndata: {"type":"urn:assay:gateway-timeout"'),
        ("/v1/ask", b'data: {"error":{"message":"nothing more'),
    ],
)
def test_a_stream_that_takes_too_long_ends_with_an_event_that_says_so(path: str, last: bytes) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        yield b"event: piece\ndata: {}\n\n"
        loop = asyncio.get_running_loop()
        clock = loop.time
        loop.time = lambda: clock() + 20  # type: ignore[method-assign]
        await asyncio.Event().wait()

    found = ask(guarded(stream_of(pieces), timeout=10), path)
    first, second, rest = found.content.split(b"\n\n")
    assert (found.status_code, first, rest) == (200, b"event: piece\ndata: {}", b"")
    assert second.startswith(last)


def streamed(said: list[bytes], pause: float, timeout: float) -> bytes:
    """What is heard of a stream with so many seconds before each piece, by a clock that is set and never runs."""

    async def pieces() -> AsyncIterator[bytes]:
        loop = asyncio.get_running_loop()
        began = loop.time()
        for number, piece in enumerate(said, 1):
            loop.time = lambda now=began + number * pause: now  # type: ignore[method-assign, misc]
            for _ in range(5):  # a deadline that has passed is met here
                await asyncio.sleep(0)
            yield piece

    async def listening() -> bytes:
        transport = httpx.ASGITransport(guarded(stream_of(pieces), timeout=timeout))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            return (await client.post("/ask")).content

    return asyncio.run(listening())


def test_a_stream_goes_on_as_long_as_pieces_come_and_ends_at_ten_times_the_seconds() -> None:
    assert streamed([PIECE] * 12, 800, timeout=1000) == PIECE * 12
    endless = streamed([PIECE] * 20, 800, timeout=1000)
    assert endless.count(PIECE) == 12
    assert b"the whole took 10000 s" in endless


def test_what_only_keeps_a_connection_alive_does_not_prolong_a_stream() -> None:
    heard = streamed([PIECE, *[b": still here\n\n"] * 5], 800, timeout=2000)
    assert heard.count(b": still here\n\n") == 2
    assert b"event: error" in heard


def test_one_key_among_several_leaves_half_of_the_turns_to_others() -> None:
    entered, go = [], asyncio.Event()

    async def slow(request: Request) -> Response:
        entered.append(request.state.owner)
        await go.wait()
        return Response("done")

    app = guarded(slow, workers=4, queue=2, keys=TWO_KEYS)

    async def both(client: httpx.AsyncClient) -> list[int]:
        greedy = [asyncio.create_task(client.post("/ask", headers=bearer(ALICE))) for _ in range(4)]
        done, _ = await asyncio.wait(greedy, return_when=asyncio.FIRST_COMPLETED)
        other = asyncio.create_task(client.post("/ask", headers=bearer(BOB)))
        while "bob" not in entered:
            await asyncio.sleep(0)
        assert [task.result().status_code for task in done] == [503]
        assert sorted(entered) == ["alice", "alice", "bob"]
        go.set()
        return sorted(found.status_code for found in await asyncio.gather(*greedy, other))

    assert talk(app, both) == [200] * 4 + [503]


def test_an_error_of_the_route_that_looks_like_a_timeout_is_not_taken_for_one() -> None:
    async def upstream(request: Request) -> Response:
        raise TimeoutError("a socket")

    assert ask(guarded(upstream)).status_code == 500


def test_who_goes_away_while_sending_is_not_answered() -> None:
    app, sent = guarded(echo), []

    async def leaving() -> None:
        async def receive() -> dict[str, str]:
            return {"type": "http.disconnect"}

        async def send(message: dict[str, object]) -> None:
            sent.append(message)

        scope = {"type": "http", "method": "POST", "path": "/ask", "raw_path": b"/ask", "query_string": b"", "headers": []}
        await app(
            {**scope, "scheme": "http", "server": ("127.0.0.1", 80), "client": None, "http_version": "1.1"}, receive, send
        )

    asyncio.run(leaving())
    assert sent == []


def test_a_question_that_is_too_long_is_refused_wherever_it_is_asked(tmp_path: Path) -> None:
    app = small_app(small_bundle(tmp_path), tmp_path / "serve.db", question_chars=20)
    for path in ("/ask", "/search", "/chat"):
        found = ask(app, path, json={"question": "a" * 21})
        assert (found.status_code, found.json()["remedy"]) == (422, "at most 20; RAG_QUESTION_CHARS sets the limit")
        assert ask(app, path, json={"question": "a" * 20}).status_code == 200
    messages = [{"role": "user", "content": "a" * 21}]
    assert ask(app, "/v1/chat/completions", json={"model": "default", "messages": messages}).status_code == 422
