"""Sessions over HTTP, with several servers and at the same time."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import httpx
import pytest
from support.databases import KINDS, file_url
from support.servers import Server, running
from support.small_server import QUESTION

from rag.core.errors import ServiceError
from rag.serve.app import purge_regularly


@pytest.fixture(scope="module", params=KINDS)
def app(request: pytest.FixtureRequest, conversing_bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    sqlite = request.param == "sqlite"
    url = file_url(tmp_path_factory.mktemp("db")) if sqlite else request.getfixturevalue("database_server").schema()
    with running([conversing_bundle], url, ["ann"]) as found:
        yield found


@pytest.fixture
def client(app: Server) -> Iterator[httpx.Client]:
    with app.as_owner("ann") as found:
        yield found
    app.opinions.settle([one.answer for one in app.opinions.candidates()])


def asked(client: httpx.Client, question: str = QUESTION, **more: Any) -> dict[str, Any]:
    response = client.post("/chat", json={"question": question, **more})
    assert response.status_code == 200
    return dict(response.json())


def rate(client: httpx.Client, answer: dict[str, Any], rating: Any = 1, **more: Any) -> int:
    return client.post("/feedback", json={"answer": answer["id"], "rating": rating, **more}).status_code


def test_a_session_shows_its_answers_unchanged(client: httpx.Client) -> None:
    first = asked(client)
    second = asked(client, "And the bus?", session=first["session"])
    shown = client.get(f"/sessions/{first['session']}")
    assert shown.status_code == 200
    session = shown.json()
    assert session["session"] == first["session"]
    assert session["expires"] - session["created"] >= 1800
    for turn, answer in zip(session["turns"], (first, second), strict=True):
        assert {name: turn[name] for name in answer} == answer
        assert session["created"] <= turn["at"] <= session["expires"]


def test_simultaneous_questions_in_one_session_are_all_stored(client: httpx.Client) -> None:
    session = asked(client)["session"]
    questions = [f"{QUESTION} Asked {n} times." for n in range(12)]
    with ThreadPoolExecutor(6) as threads:
        answers = list(threads.map(lambda question: asked(client, question, session=session), questions))
    assert sorted(one["turn"] for one in answers) == list(range(2, 14))
    shown = client.get(f"/sessions/{session}").json()["turns"]
    assert [one["turn"] for one in shown] == list(range(1, 14))
    assert {one["turn"]: one["question"] for one in answers}.items() <= {one["turn"]: one["question"] for one in shown}.items()


def test_another_server_continues_a_session(conversing_bundle: Path, tmp_path: Path) -> None:
    url = file_url(tmp_path)
    with running([conversing_bundle], url, ["ann"]) as first, first.as_owner("ann") as client:
        answer = asked(client)
    with running([conversing_bundle], url, ["ann"]) as second, second.as_owner("ann") as client:
        following = asked(client, "And the bus?", session=answer["session"], show=["prompt"])
        assert following["turn"] == 2
        assert QUESTION in [message["content"] for message in following["prompt"]]
        assert rate(client, answer) == 204


def test_the_purge_continues_when_the_database_is_back() -> None:
    failing = Mock(purge=Mock(side_effect=[ServiceError("sessions", "is away", "wait"), *[1] * 1000]))

    async def until_it_works() -> None:
        job = asyncio.create_task(purge_regularly(failing, 0))
        while failing.purge.call_count < 3:
            await asyncio.sleep(0)
        assert not job.done()
        job.cancel()

    asyncio.run(asyncio.wait_for(until_it_works(), 60))
