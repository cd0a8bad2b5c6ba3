"""Ratings, the same in SQLite and PostgreSQL: of one's own answers only, kept until they are reviewed."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from support.databases import KINDS, file_url

from rag.core.records import Turn
from rag.serve import conversations
from rag.serve.conversations import Conversations
from rag.serve.database import MissingError
from rag.serve.feedback import ANSWER, Opinions, answer_id


class Hours:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def hours() -> Hours:
    return Hours()


@pytest.fixture(params=KINDS)
def talks(request: pytest.FixtureRequest, hours: Hours) -> Iterator[Conversations]:
    sqlite = request.param == "sqlite"
    url = file_url(request.getfixturevalue("tmp_path")) if sqlite else request.getfixturevalue("database_server").fresh()
    found = Conversations(url, 1800, hours)
    yield found
    found.close()


@pytest.fixture
def opinions(talks: Conversations, hours: Hours) -> Opinions:
    return Opinions(talks.database, 1800, hours)


def told(question: str = "q", answer: str = "a [1]", **more: Any) -> dict[str, Any]:
    return {"id": answer_id(), "question": question, "answer": answer, "contexts": [{"text": "t"}]} | more


def test_ids_are_not_guessed_and_not_repeated() -> None:
    found = {answer_id() for _ in range(1000)}
    assert len(found) == 1000
    assert all(ANSWER.fullmatch(one) for one in found)


def test_a_rated_answer_is_a_candidate_with_all_that_was_said_of_it(opinions: Opinions, hours: Hours) -> None:
    answer = told("what?", "that [1]")
    opinions.keep("ann", answer)
    assert opinions.candidates() == []
    hours.now += 3
    opinions.add("ann", answer["id"], -1, "no: \0 this")
    (found,) = opinions.candidates()
    assert (found.answer, found.owner, found.rating, found.comment) == (answer["id"], "ann", -1, "no: \0 this")
    assert (found.told, found.history, found.at) == (answer, (), hours.now)


def test_a_second_rating_takes_the_place_of_the_first(opinions: Opinions) -> None:
    answer = told()
    opinions.keep("ann", answer)
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda n: opinions.add("ann", answer["id"], 1, str(n)), range(12)))
    opinions.add("ann", answer["id"], -1, "on second thoughts")
    assert [(one.rating, one.comment) for one in opinions.candidates()] == [(-1, "on second thoughts")]


def test_a_turn_is_rated_with_the_turns_that_it_was_answered_after(
    talks: Conversations, opinions: Opinions, hours: Hours
) -> None:
    session = talks.create("ann")
    answers = [told(f"q{n}", f"a{n} [1]") for n in range(3)]
    for answer in answers[:2]:
        talks.append("ann", session, answer["question"], answer["answer"], answer)
    # Two questions at once: the third was asked when only the first had been answered.
    talks.append("ann", session, "q2", "a2 [1]", answers[2], 1)
    for answer in answers:
        hours.now += 1
        opinions.add("ann", answer["id"], 1)
    first = (Turn("user", "q0"), Turn("assistant", "a0"))
    assert [one.history for one in opinions.candidates()] == [(), first, first]


@pytest.mark.parametrize("name", ["", "ans_", "ans_\0", "ans_" + "0" * 24, "ans_" + "0" * 24 + "\n", "\ud800"])
def test_what_is_no_answer_cannot_be_rated(opinions: Opinions, name: str) -> None:
    with pytest.raises(MissingError, match="no such answer"):
        opinions.add("ann", name, 1)


def test_an_answer_is_rated_by_who_got_it(talks: Conversations, opinions: Opinions) -> None:
    alone, turn = told(), told()
    opinions.keep("ann", alone)
    talks.append("ann", talks.create("ann"), "q", "a", turn)
    for answer in (alone, turn):
        with pytest.raises(MissingError):
            opinions.add("bob", answer["id"], 1)
    assert opinions.candidates() == []


def test_an_answer_is_rated_as_long_as_it_is_kept(talks: Conversations, opinions: Opinions, hours: Hours) -> None:
    alone, turn, forgotten = told(), told(), told()
    session, other = talks.create("ann"), talks.create("ann")
    opinions.keep("ann", alone)
    talks.append("ann", session, "q", "a", turn)
    talks.append("ann", other, "q", "a", forgotten)
    talks.forget("ann", other)
    hours.now += 1000
    talks.turns("ann", session)
    hours.now += 800
    opinions.add("ann", turn["id"], 1)
    for gone in (alone, forgotten):
        with pytest.raises(MissingError):
            opinions.add("ann", gone["id"], 1)
    hours.now += 1000
    # Not purged yet, expired all the same.
    with pytest.raises(MissingError):
        opinions.add("ann", turn["id"], -1)
    assert [one.rating for one in opinions.candidates()] == [1]


def test_ratings_outlive_their_session_until_they_are_settled(talks: Conversations, opinions: Opinions, hours: Hours) -> None:
    answers = [told(f"q{n}") for n in range(3)]
    session = talks.create("ann")
    for answer in answers:
        hours.now += 1
        talks.append("ann", session, answer["question"], "a", answer)
        opinions.add("ann", answer["id"], 1)
    talks.forget("ann", session)
    hours.now += 10_000
    talks.purge()
    assert [one.told["question"] for one in opinions.candidates()] == ["q0", "q1", "q2"]
    opinions.settle([answers[0]["id"], answers[2]["id"], "another"])
    assert [one.told["question"] for one in opinions.candidates()] == ["q1"]
    opinions.settle([])
    assert len(opinions.candidates()) == 1


def test_of_many_answers_the_newest_of_each_owner_can_be_rated(
    talks: Conversations, opinions: Opinions, hours: Hours, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversations, "RATEABLE", 2)
    kept: dict[str, list[str]] = {"ann": [], "bob": []}
    for owner in ("ann", "ann", "bob", "ann", "ann"):
        hours.now += 1
        opinions.keep(owner, answer := told())
        kept[owner].append(answer["id"])
    session = talks.create("ann")
    for _ in range(3):
        talks.append("ann", session, "q", "a", answer := told())
        kept["ann"].append(answer["id"])
    talks.purge()
    for new in kept["ann"][2:]:
        opinions.add("ann", new, 1)
    opinions.add("bob", *kept["bob"], 1)
    for old in kept["ann"][:2]:
        with pytest.raises(MissingError):
            opinions.add("ann", old, 1)


def test_answers_outside_of_sessions_are_purged(talks: Conversations, opinions: Opinions, hours: Hours) -> None:
    opinions.keep("ann", old := told())
    hours.now += 1800
    opinions.keep("ann", young := told())
    talks.purge()
    hours.now -= 1
    with pytest.raises(MissingError):
        opinions.add("ann", old["id"], 1)
    opinions.add("ann", young["id"], 1)
