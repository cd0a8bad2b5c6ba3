"""Sessions over HTTP, with several servers and at the same time, and ratings of their answers."""

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
from support.small_server import QUESTION, ManualClock

from rag.core.errors import ServiceError
from rag.core.types import Turn
from rag.serve import conversations
from rag.serve.app import purge_regularly
from rag.serve.conversations import Conversations
from rag.serve.database import MissingError
from rag.serve.feedback import Opinions, answer_id


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


@pytest.fixture
def opinions(talks: Conversations, clock: ManualClock) -> Opinions:
    return Opinions(talks.database, 1800, clock)


def payload(question: str = "q", answer: str = "a [1]", **more: Any) -> dict[str, Any]:
    return {"id": answer_id(), "question": question, "answer": answer, "contexts": [{"text": "t"}]} | more


def test_a_rated_answer_is_a_candidate_with_its_payload(opinions: Opinions, clock: ManualClock) -> None:
    answer = payload("what?", "that [1]")
    opinions.keep("ann", answer)
    assert opinions.candidates() == []
    clock.now += 3
    opinions.add("ann", answer["id"], -1, "no: \0 this")
    (found,) = opinions.candidates()
    assert (found.answer, found.owner, found.rating, found.comment) == (answer["id"], "ann", -1, "no: \0 this")
    assert (found.told, found.history, found.at) == (answer, (), clock.now)


def test_a_second_rating_replaces_the_first(opinions: Opinions) -> None:
    answer = payload()
    opinions.keep("ann", answer)
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda n: opinions.add("ann", answer["id"], 1, str(n)), range(12)))
    opinions.add("ann", answer["id"], -1, "on second thoughts")
    assert [(one.rating, one.comment) for one in opinions.candidates()] == [(-1, "on second thoughts")]


def test_a_rating_holds_the_turns_before_its_answer(talks: Conversations, opinions: Opinions, clock: ManualClock) -> None:
    session = talks.create("ann")
    answers = [payload(f"q{n}", f"a{n} [1]") for n in range(3)]
    for answer in answers[:2]:
        talks.append("ann", session, answer["question"], answer["answer"], answer)
    # Two questions at once: the third was asked when only the first had been answered.
    talks.append("ann", session, "q2", "a2 [1]", answers[2], 1)
    for answer in answers:
        clock.now += 1
        opinions.add("ann", answer["id"], 1)
    first = (Turn("user", "q0"), Turn("assistant", "a0"))
    assert [one.history for one in opinions.candidates()] == [(), first, first]


def test_an_answer_can_be_rated_until_it_expires(talks: Conversations, opinions: Opinions, clock: ManualClock) -> None:
    alone, turn = payload(), payload()
    session = talks.create("ann")
    opinions.keep("ann", alone)
    talks.append("ann", session, "q", "a", turn)
    clock.now += 1000
    talks.turns("ann", session)
    for seconds, there, gone in ((800, [turn], alone), (1000, [], turn)):
        clock.now += seconds
        for answer in there:
            opinions.add("ann", answer["id"], 1)
        with pytest.raises(MissingError):
            opinions.add("ann", gone["id"], 1)
    talks.purge()
    clock.now -= 2800
    with pytest.raises(MissingError):
        opinions.add("ann", alone["id"], 1)


def test_ratings_outlive_their_session_until_they_are_settled(
    talks: Conversations, opinions: Opinions, clock: ManualClock
) -> None:
    answers = [payload(f"q{n}") for n in range(3)]
    session = talks.create("ann")
    for answer in answers:
        clock.now += 1
        talks.append("ann", session, answer["question"], "a", answer)
        opinions.add("ann", answer["id"], 1)
    talks.forget("ann", session)
    clock.now += 10_000
    talks.purge()
    assert [one.told["question"] for one in opinions.candidates()] == ["q0", "q1", "q2"]
    opinions.settle([answers[0]["id"], answers[2]["id"], "another"])
    assert [one.told["question"] for one in opinions.candidates()] == ["q1"]
    opinions.settle([])
    assert len(opinions.candidates()) == 1


def test_of_many_answers_the_newest_of_each_owner_can_be_rated(
    talks: Conversations, opinions: Opinions, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversations, "RATEABLE", 2)
    kept: dict[str, list[str]] = {"ann": [], "bob": []}
    for owner in ("ann", "ann", "bob", "ann", "ann"):
        clock.now += 1
        opinions.keep(owner, answer := payload())
        kept[owner].append(answer["id"])
    session = talks.create("ann")
    for _ in range(3):
        talks.append("ann", session, "q", "a", answer := payload())
        kept["ann"].append(answer["id"])
    talks.purge()
    for new in kept["ann"][2:]:
        opinions.add("ann", new, 1)
    opinions.add("bob", *kept["bob"], 1)
    for old in kept["ann"][:2]:
        with pytest.raises(MissingError):
            opinions.add("ann", old, 1)
