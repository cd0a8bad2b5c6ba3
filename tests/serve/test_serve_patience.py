"""Models in the way of an answer: asked beside the search, and not again and again."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
from support.live_server import PATIENT, live
from support.scripted_server import error, say, serving
from support.small_server import QUESTION, small_bundle

from rag.bundle.open_bundle import Bundle, open_bundle
from rag.components.generators.openai import OpenAiGenerator
from rag.core.records import Query, Sought
from rag.serve.loaded_bundles import Served
from rag.serve.retry_limits import RETRIES, KnownQueries, impatient


@dataclass(frozen=True)
class Slow:
    """Rewrites a question that ends with a dot when it is let, and any other at once."""

    let: threading.Event
    begun: threading.Event
    costly: ClassVar[bool] = True

    def rewrite(self, queries: Sequence[Query]) -> list[Sought]:
        assert len(queries) == 1  # nobody waits for anybody else's
        if queries[0].text.endswith("."):
            self.begun.set()
            assert self.let.wait(PATIENT)
        return [Sought(f"{query.text} rewritten", (query.text, "bus"), cost=0.5) for query in queries]


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sealed bundle."""
    return small_bundle(tmp_path_factory.mktemp("patience"), "generator=extractive")


def test_a_model_that_rewrites_slowly_keeps_nobody_else_waiting(bundle: Path, tmp_path: Path) -> None:
    slow = Slow(threading.Event(), threading.Event())

    def opened(path: Path) -> Bundle:
        found = open_bundle(path)
        return replace(found, pipeline=replace(found.pipeline, queries=slow))

    with live(Served([bundle], opened), tmp_path / "serve.db") as server:
        late: list[dict[str, Any]] = []
        waiting = threading.Thread(target=lambda: late.append(server.told("/ask", question="When does it leave.")))
        waiting.start()
        assert slow.begun.wait(PATIENT)
        told = server.told("/ask", question=QUESTION)
        assert (told["sought"]["question"], told["cost_usd"]) == (f"{QUESTION} rewritten", 0.5)
        assert told["sought"]["texts"] == [QUESTION, "bus"]
        assert told["timings"]["rewrite"] > 0
        assert not late
        whole = server.told("/ask", question="Whole.", within={"whole": ["bus.md"]})  # nothing is searched for
        assert whole["sought"]["texts"] == ["Whole."]
        slow.let.set()
        waiting.join(PATIENT)
        assert late[0]["sought"]["question"] == "When does it leave. rewritten"
        rewriter = server.served.models[0].batcher.pipeline.queries
        assert isinstance(rewriter, KnownQueries)
        assert rewriter._known == {}


def test_a_rewriter_whose_model_is_away_is_done_without(tmp_path: Path) -> None:
    with serving(error(503, "overloaded", {"x-should-retry": "false"})) as script:
        asking = ("queries=rewrite", f"queries.generator.base_url={script.url}", "queries.generator.model=tiny")
        made = small_bundle(tmp_path / "b", "generator=extractive", *asking)
        with live(Served([made]), tmp_path / "serve.db") as server:
            first = server.told("/chat", question=QUESTION)
            assert script.asked == []
            second = server.told("/chat", question="And in winter?", session=first["session"])
            assert second["sought"]["note"].startswith("searched for as typed")
            script.steps = [say("When does the ferry leave in winter?")]
            third = server.told("/chat", question="And in winter?", session=first["session"])
            assert third["sought"]["question"] == "When does the ferry leave in winter?"


@dataclass(frozen=True)
class Holding:
    """A component with a generator in it."""

    generator: Any
    retries: str = "many"


def test_endpoints_are_not_asked_again_and_again_wherever_they_are() -> None:
    made = impatient(Holding(Holding(OpenAiGenerator("m", retries=5))))
    assert made.generator.generator.retries == RETRIES
    assert made.retries == "many"


@pytest.mark.parametrize("component", [Holding(OpenAiGenerator("m", retries=RETRIES)), Holding(None), "text", OpenAiGenerator])
def test_what_is_patient_enough_stays_itself(component: Any) -> None:
    assert impatient(component) is component


def test_a_question_that_nobody_announced_is_searched_for_as_typed() -> None:
    (sought,) = KnownQueries(Slow(threading.Event(), threading.Event())).rewrite([Query("q", QUESTION)])
    assert sought == Sought(QUESTION, (QUESTION,))
