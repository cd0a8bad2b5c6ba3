"""Figures for Prometheus: what is counted, under which names, and that nobody outside makes any."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI, Request, Response
from prometheus_client.parser import text_string_to_metric_families
from support.small_server import (
    ALICE,
    BOB,
    QUESTION,
    TWO_KEYS,
    ask,
    bearer,
    echo,
    guarded,
    small_app,
    small_bundle,
    stream_of,
    talk,
)

CANARY = "Canary-Wombat-4711"


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sealed bundle."""
    return small_bundle(tmp_path_factory.mktemp("metrics"))


def figures(app: FastAPI, **headers: str) -> dict[tuple[str, ...], float]:
    """What /metrics shows: values by name and labels, in the order of the labels' names."""
    found = ask(app, "/metrics", "GET", headers=headers)
    assert found.status_code == 200
    assert found.headers["content-type"].startswith("text/plain; version=1.0.0")
    samples = (sample for family in text_string_to_metric_families(found.text) for sample in family.samples)
    return {(sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value for sample in samples}


def test_requests_are_counted_by_route_and_status(bundle: Path, tmp_path: Path) -> None:
    app = small_app(bundle, tmp_path / "serve.db")
    for _ in range(3):
        ask(app, json={"question": QUESTION})
    ask(app, "/search", json={"question": QUESTION})
    ask(app, json={})
    ask(app, "/documents/ferry.md", "GET")
    ask(app, "/documents/bus.md", "GET")
    found = figures(app)
    assert found["assay_requests_total", "POST", "/ask", "200"] == 3
    assert found["assay_requests_total", "POST", "/ask", "422"] == 1
    assert found["assay_request_seconds_count", "/ask"] == 4
    assert found["assay_first_piece_seconds_count", "/ask"] == 3
    assert found["assay_step_seconds_count", "search"] == 4
    assert found["assay_step_seconds_count", "generate"] == 3
    (documents,) = (
        value for name, value in found.items() if name[:2] == ("assay_requests_total", "GET") and "documents" in name[2]
    )
    assert documents == 2


def test_answers_are_counted_by_model_with_what_they_cost(bundle: Path, tmp_path: Path) -> None:
    app = small_app(bundle, tmp_path / "serve.db")
    told = [ask(app, json={"question": question}).json() for question in (QUESTION, "Who paints the lighthouse?")]
    found, model = figures(app), told[0]["model"]
    answers = sum(found.get(("assay_answers_total", abstained, model), 0) for abstained in ("true", "false"))
    assert answers == 2
    assert found["assay_cost_usd_total", model] == 0
    assert found["assay_tokens_total", "prompt", model] == sum(one["tokens"]["prompt"] for one in told)


def test_a_streamed_answer_counts_as_one_that_is_not(bundle: Path, tmp_path: Path) -> None:
    app = small_app(bundle, tmp_path / "serve.db")
    assert "event: answer" in ask(app, json={"question": QUESTION, "stream": True}).text
    messages = [{"role": "user", "content": QUESTION}]
    ask(app, "/v1/chat/completions", json={"model": "default", "messages": messages, "stream": True})
    found = figures(app)
    assert sum(value for name, value in found.items() if name[0] == "assay_answers_total") == 2
    assert found["assay_request_seconds_count", "/v1/chat/completions"] == 1


def test_what_clients_send_makes_no_series(bundle: Path, tmp_path: Path) -> None:
    app = small_app(bundle, tmp_path / "serve.db", rate=0)
    before = len(figures(app))
    for number in range(20):
        word = f"{CANARY}-{number}"
        ask(app, f"/{word}", "GET")
        ask(app, f"/documents/{word}", "GET")
        ask(app, "/ask", word.upper())
        ask(app, json={"question": word, "model": word})
        ask(app, f"/page/{word}", "GET")
    found = figures(app)
    assert CANARY not in ask(app, "/metrics", "GET").text
    assert found["assay_requests_total", "GET", "-", "404"] == 20
    assert sum(value for name, value in found.items() if name[:2] == ("assay_requests_total", "OTHER")) == 20
    # Five routes with 20 series each at most, however many names were sent.
    assert len(found) - before < 150


def test_it_needs_a_key_and_shows_none(bundle: Path, tmp_path: Path) -> None:
    app = small_app(bundle, tmp_path / "serve.db", keys=TWO_KEYS)
    assert ask(app, "/metrics", "GET").status_code == 401
    ask(app, json={"question": QUESTION}, headers=bearer(BOB))
    text = ask(app, "/metrics", "GET", headers=bearer(ALICE)).text
    assert "alice" not in text
    assert "bob" not in text
    assert not any(secret in text for secret in (ALICE, BOB, *(known for _, known in TWO_KEYS.entries)))


def test_two_apps_of_a_process_count_apart() -> None:
    one, other = guarded(echo), guarded(echo)
    ask(one)
    assert ("assay_requests_total", "POST", "/ask", "200") in figures(one)
    assert ("assay_requests_total", "POST", "/ask", "200") not in figures(other)


def test_refusals_are_counted_by_their_status() -> None:
    app = guarded(echo, keys=TWO_KEYS, body_bytes=1024)
    ask(app)
    ask(app, content=b"x" * 1025, headers=bearer(ALICE))
    found = figures(app, **bearer(ALICE))
    # No route was reached: what was sent as a path is not known to be one.
    assert found["assay_requests_total", "POST", "-", "401"] == 1
    assert found["assay_requests_total", "POST", "-", "413"] == 1


def test_a_broken_stream_is_counted_by_its_error() -> None:
    async def pieces() -> Iterator[bytes]:
        yield b"event: piece\ndata: {}\n\n"
        raise ValueError(CANARY)

    app = guarded(stream_of(pieces))
    ask(app)
    assert figures(app)["assay_broken_streams_total", "ValueError"] == 1


def test_how_many_work_and_wait_is_seen_while_nobody_else_gets_in() -> None:
    inside, go = asyncio.Event(), asyncio.Event()

    async def slow(request: Request) -> Response:
        inside.set()
        await go.wait()
        return Response("done")

    app = guarded(slow, workers=1, queue=1)

    async def looking(client: httpx.AsyncClient) -> str:
        asking = [asyncio.create_task(client.post("/ask")) for _ in range(3)]
        await inside.wait()
        # Of the three one works and one waits.
        await asyncio.wait(asking, return_when=asyncio.FIRST_COMPLETED)
        shown = (await client.get("/metrics")).text
        go.set()
        await asyncio.gather(*asking)
        return shown

    shown = talk(app, looking)
    assert "assay_requests_working 1.0" in shown
    assert "assay_requests_waiting 1.0" in shown
