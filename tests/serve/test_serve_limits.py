"""Limits of requests: size, rate, turns, time; and the responses beyond them."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from fastapi import Request, Response
from support.small_server import (
    ALICE,
    BOB,
    TWO_KEYS,
    ManualClock,
    ask,
    bearer,
    chat_request,
    echo,
    guarded,
    small_app,
    stream_of,
    talk,
)

PIECE = b"event: piece\ndata: {}\n\n"


def test_the_real_size_of_a_body_counts_and_one_that_declares_too_many_bytes_is_not_read() -> None:
    app = guarded(echo, body_bytes=2000)
    assert ask(app, content=b"x" * 2000).text == "anyone 2000"
    assert ask(app, content=b"x" * 3000, headers={"Content-Length": "10"}).status_code == 413

    async def never() -> AsyncIterator[bytes]:
        raise AssertionError("the body was read")
        yield b""

    found = ask(guarded(echo, body_bytes=2000), content=never(), headers={"Content-Length": "2001"})
    assert (found.status_code, found.headers["connection"]) == (413, "close")
    assert found.json()["remedy"] == "send less; RAG_BODY_BYTES sets the limit"


def test_a_key_beyond_its_rate_waits_for_retry_after() -> None:
    clock = ManualClock()
    app = guarded(echo, clock, keys=TWO_KEYS, rate=6, burst=3)

    async def asking(client: httpx.AsyncClient) -> list[tuple[int, str | None]]:
        async def response_to(key: str = ALICE) -> tuple[int, str | None]:
            found = await client.post("/ask", headers=bearer(key))
            return found.status_code, found.headers.get("retry-after")

        first = [await response_to() for _ in range(4)]
        other = await response_to(BOB)
        clock.now += 9
        early = await response_to()
        clock.now += 1
        late = [await response_to(), await response_to()]
        clock.now += 3600
        return [*first, other, early, *late, *[await response_to() for _ in range(4)]]

    ok = (200, None)
    three = [ok, ok, ok, (429, "10")]
    assert talk(app, asking) == [*three, ok, (429, "1"), ok, (429, "10"), *three]


def test_health_has_no_rate_limit_and_a_rate_of_0_is_none() -> None:
    unlimited = guarded(echo, rate=0, burst=1)
    assert {ask(unlimited).status_code for _ in range(3)} == {200}
    app = guarded(echo, ManualClock(), rate=1, burst=1)
    assert ask(app).status_code == 200
    assert ask(app).status_code == 429
    assert [ask(app, "/healthz", "GET").status_code for _ in range(5)] == [200] * 5


def test_requests_beyond_workers_and_queue_are_refused() -> None:
    entered, go = [], asyncio.Event()

    async def slow(request: Request) -> Response:
        entered.append(1)
        await go.wait()
        return Response("done")

    app = guarded(slow, workers=2, queue=3)

    async def crowd(client: httpx.AsyncClient) -> list[int]:
        async def response_to() -> int:
            found = await client.post("/ask")
            if found.status_code == 503:
                assert found.headers["retry-after"] == "1"
                assert found.json()["detail"] == "too many requests wait already"
                # When all others have been refused, the rest may end.
                refused.append(1)
                if len(refused) == 4:
                    assert len(entered) == 2
                    assert "assay_requests_waiting 3.0" in (await client.get("/metrics")).text
                    assert (await client.get("/healthz")).status_code == 200
                    go.set()
            return found.status_code

        refused: list[int] = []
        return sorted(await asyncio.gather(*(response_to() for _ in range(9))))

    assert talk(app, crowd) == [200] * 5 + [503] * 4


def test_a_turn_is_released_after_a_failure() -> None:
    async def failing(request: Request) -> Response:
        if await request.body() == b"well":
            return Response("done")
        raise RuntimeError("no")

    app = guarded(failing, workers=1, queue=0)
    assert [ask(app, content=body).status_code for body in (b"ill", b"ill", b"well")] == [500, 500, 200]


def test_a_slow_sender_delays_no_other_request() -> None:
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
def test_a_request_that_takes_too_long_is_cancelled(path: str) -> None:
    found = ask(guarded(endless, timeout=0.05), path)
    assert found.status_code == 504
    detail = found.json()["error"]["message"] if path.startswith("/v1") else found.json()["detail"]
    assert detail.startswith("not answered within 0.05 s")


def test_waiting_and_sending_count_as_taking_time() -> None:
    async def two(client: httpx.AsyncClient) -> list[int]:
        return [found.status_code for found in await asyncio.gather(client.post("/ask"), client.post("/ask"))]

    async def never() -> AsyncIterator[bytes]:
        yield b"x"
        await asyncio.Event().wait()

    assert talk(guarded(endless, timeout=0.05, workers=1), two) == [504, 504]
    assert ask(guarded(echo, timeout=0.05), content=never()).status_code == 504


def streamed(sent: list[bytes], pause: float, timeout: float, path: str = "/ask") -> bytes:
    """The bytes received of a stream with `pause` seconds before each piece, by a clock that the test sets."""

    async def pieces() -> AsyncIterator[bytes]:
        loop = asyncio.get_running_loop()
        began = loop.time()
        for number, piece in enumerate(sent, 1):
            loop.time = lambda now=began + number * pause: now  # type: ignore[method-assign, misc]
            for _ in range(5):  # a deadline that has passed takes effect here
                await asyncio.sleep(0)
            yield piece

    async def received() -> bytes:
        transport = httpx.ASGITransport(guarded(stream_of(pieces), timeout=timeout))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            return (await client.post(path)).content

    return asyncio.run(received())


def test_pieces_extend_a_stream_up_to_ten_times_the_timeout() -> None:
    assert streamed([PIECE] * 12, 800, timeout=1000) == PIECE * 12
    endless = streamed([PIECE] * 20, 800, timeout=1000)
    assert endless.count(PIECE) == 12
    assert b"the whole took 10000 s" in endless


@pytest.mark.parametrize(
    ("path", "last"),
    [
        ("/ask", b'event: error\ndata: {"type":"urn:assay:gateway-timeout"'),
        ("/v1/ask", b'data: {"error":{"message":"nothing more'),
    ],
)
def test_comments_do_not_extend_a_stream_and_a_problem_ends_it(path: str, last: bytes) -> None:
    *sent, end, rest = streamed([PIECE, *[b": still here\n\n"] * 5], 800, 2000, path).split(b"\n\n")
    assert (sent, rest) == ([PIECE.strip(), b": still here", b": still here"], b"")
    assert end.startswith(last)


def test_one_key_of_several_gets_half_of_the_turns() -> None:
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


def test_a_timeout_error_of_the_route_is_not_a_timeout_of_the_request() -> None:
    async def upstream(request: Request) -> Response:
        raise TimeoutError("a socket")

    assert ask(guarded(upstream)).status_code == 500


def test_a_question_that_is_too_long_is_refused_by_every_route(bundle: Path, tmp_path: Path) -> None:
    app = small_app(bundle, tmp_path / "serve.db", question_chars=20)
    for path in ("/ask", "/search", "/chat"):
        found = ask(app, path, json={"question": "a" * 21})
        assert (found.status_code, found.json()["remedy"]) == (422, "at most 20; RAG_QUESTION_CHARS sets the limit")
        assert ask(app, path, json={"question": "a" * 20}).status_code == 200
    assert ask(app, "/v1/chat/completions", json=chat_request("a" * 21)).status_code == 422
