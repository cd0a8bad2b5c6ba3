"""Texts, sessions and ratings of one owner never reach another: hundreds of random steps over HTTP."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, multiple, rule, run_state_machine_as_test
from support.servers import PATIENT, Server, running
from support.small_server import ManualClock

OWNERS = ("ann", "bob", "cat")
IDLE = 1800


@dataclass
class Answered:
    """An answer as its owner knows it."""

    owner: str
    id: str
    session: "Session | None"
    at: float


@dataclass
class Session:
    """A session as its owner knows it."""

    owner: str
    id: str
    used: float
    questions: list[str] = field(default_factory=list)
    alive: bool = True


class World:
    """A server, and one client per owner."""

    def __init__(self, server: Server, clock: ManualClock) -> None:
        self.server, self.clock = server, clock
        self.clients = {owner: server.as_owner(owner) for owner in OWNERS}
        self.numbers = itertools.count()
        self.ratings: dict[str, tuple[str, int]] = {}

    def question(self, owner: str) -> str:
        """A question that no other owner asks."""
        return f"When does the ferry leave, says {owner}-sesame-{next(self.numbers)}?"

    def send(self, owner: str, method: str, path: str, body: object = None) -> httpx.Response:
        """A request whose response holds no text of another owner."""
        response = self.clients[owner].request(method, path, json=body)
        assert response.status_code < 500
        for other in OWNERS:
            assert other == owner or f"{other}-sesame" not in response.text
        return response


class Tenants(RuleBasedStateMachine):
    """Owners that use their own ids and those of others."""

    world: World
    sessions = Bundle("sessions")
    answers = Bundle("answers")
    owners = st.sampled_from(OWNERS)

    def alive(self, session: Session) -> bool:
        return session.alive and session.used > self.world.clock.now - IDLE

    def mine(self, session: Session, owner: str) -> bool:
        return session.owner == owner and self.alive(session)

    @rule(target=sessions, owner=owners)
    def begin(self, owner: str) -> Session:
        question = self.world.question(owner)
        answer = self.world.send(owner, "POST", "/chat", {"question": question, "show": ["prompt"]}).json()
        assert answer["turn"] == 1
        return Session(owner, answer["session"], self.world.clock.now, [question])

    @rule(target=answers, owner=owners, session=sessions, stream=st.booleans())
    def go_on(self, owner: str, session: Session, stream: bool) -> object:
        question = self.world.question(owner)
        body = {"question": question, "session": session.id, "show": ["prompt", "trace"], "stream": stream}
        response = self.world.send(owner, "POST", "/chat", body)
        if not self.mine(session, owner):
            assert response.status_code == 404
            return multiple()
        assert response.status_code == 200
        session.used = self.world.clock.now
        session.questions.append(question)
        if stream:
            assert "event: answer" in response.text
            return multiple()
        answer = response.json()
        assert answer["turn"] == len(session.questions)
        sent = [message["content"] for message in answer["prompt"]]
        # Earlier turns in the prompt are those of this session.
        assert [text for text in sent[:-1] if "sesame" in text] == session.questions[-5:-1]
        return Answered(owner, answer["id"], session, self.world.clock.now)

    @rule(target=answers, owner=owners)
    def ask(self, owner: str) -> Answered:
        answer = self.world.send(owner, "POST", "/ask", {"question": self.world.question(owner)}).json()
        assert (answer["session"], answer["turn"]) == (None, None)
        return Answered(owner, answer["id"], None, self.world.clock.now)

    @rule(owner=owners, session=sessions)
    def look(self, owner: str, session: Session) -> None:
        response = self.world.send(owner, "GET", f"/sessions/{session.id}")
        if not self.mine(session, owner):
            assert response.status_code == 404
            return
        turns = response.json()["turns"]
        assert [turn["question"] for turn in turns] == session.questions
        assert [turn["turn"] for turn in turns] == list(range(1, len(turns) + 1))

    @rule(owner=owners, session=sessions)
    def forget(self, owner: str, session: Session) -> None:
        mine = self.mine(session, owner)
        assert self.world.send(owner, "DELETE", f"/sessions/{session.id}").status_code == (204 if mine else 404)
        session.alive = session.alive and not mine

    @rule(owner=owners, answer=answers, rating=st.sampled_from([1, -1]))
    def rate(self, owner: str, answer: Answered, rating: int) -> None:
        body = {"answer": answer.id, "rating": rating, "comment": f"{owner}-sesame"}
        status = self.world.send(owner, "POST", "/feedback", body).status_code
        stored = self.alive(answer.session) if answer.session else answer.at > self.world.clock.now - IDLE
        mine = owner == answer.owner and stored
        assert status == (204 if mine else 404)
        if mine:
            self.world.ratings[answer.id] = (owner, rating)

    @rule(owner=owners, session=sessions, name=st.sampled_from(["{}0", " {}", "{}%00", "../sessions/{}x"]))
    def guess(self, owner: str, session: Session, name: str) -> None:
        assert self.world.send(owner, "GET", f"/sessions/{name.format(session.id)}").status_code == 404

    @rule(seconds=st.sampled_from([1, 600, 1799, 1800]))
    def wait(self, seconds: float) -> None:
        self.world.clock.now += seconds

    @rule()
    def purge(self) -> None:
        self.world.server.conversations.purge()

    @rule(
        key=st.sampled_from(["Bearer", "Bearer sk-assay-", "Bearer ann", "Basic sk-assay-ann", "Bearer sk-assay-ann2"]),
        session=sessions,
    )
    def intrude(self, key: str, session: Session) -> None:
        answer = self.world.server.client.get(f"/sessions/{session.id}", headers={"Authorization": key}, timeout=PATIENT)
        assert answer.status_code == 401
        assert "sesame" not in answer.text


@pytest.fixture(scope="module")
def world(conversing_bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    clock = ManualClock(1_000_000.0)
    with running([conversing_bundle], tmp_path_factory.mktemp("tenants") / "serve.db", OWNERS, clock) as server:
        yield World(server, clock)


def test_nothing_crosses_from_one_owner_to_another(world: World) -> None:
    machine = type("TenantsOfAServer", (Tenants,), {"world": world})
    sizes = settings(
        max_examples=10, stateful_step_count=50, deadline=None, database=None, suppress_health_check=list(HealthCheck)
    )
    run_state_machine_as_test(machine, settings=sizes)
    assert next(world.numbers) > 100
    rated = {one.answer: (one.owner, one.rating) for one in world.server.opinions.candidates()}
    assert rated == world.ratings
    assert rated
    for one in world.server.opinions.candidates():
        words = " ".join((one.told["question"], one.comment, *(turn.text for turn in one.history)))
        assert all(other == one.owner or f"{other}-sesame" not in words for other in OWNERS)
