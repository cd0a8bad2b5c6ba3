"""Slow and failing models: a slow rewriter delays no other question, and endpoints get few retries."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
from support.scripted_server import error, say, serving
from support.servers import PATIENT, running
from support.small_server import QUESTION, small_bundle

from rag.bundle.open_bundle import Bundle, open_bundle
from rag.components.generators.openai import OpenAiGenerator
from rag.core.types import Query, Sought
from rag.serve.loaded_bundles import Served
from rag.serve.retry_limits import RETRIES, KnownQueries, with_few_retries


@dataclass(frozen=True)
class SlowRewriter:
    """Rewrites a question that ends with a dot when it is let, and any other at once."""

    let: threading.Event
    begun: threading.Event
    costly: ClassVar[bool] = True

    def rewrite(self, queries: Sequence[Query]) -> list[Sought]:
        assert len(queries) == 1  # no question waits for another
        if queries[0].text.endswith("."):
            self.begun.set()
            assert self.let.wait(PATIENT)
        return [Sought(f"{query.text} rewritten", (query.text, "bus"), cost=0.5) for query in queries]


def test_a_slow_rewriter_delays_no_other_question(bundle: Path, tmp_path: Path) -> None:
    slow = SlowRewriter(threading.Event(), threading.Event())

    def opened(path: Path) -> Bundle:
        found = open_bundle(path)
        return replace(found, pipeline=replace(found.pipeline, queries=slow))

    with running(Served([bundle], opened), tmp_path / "serve.db") as server:
        late: list[dict[str, Any]] = []
        waiting = threading.Thread(target=lambda: late.append(server.payload("/ask", question="When does it leave.")))
        waiting.start()
        assert slow.begun.wait(PATIENT)
        answer = server.payload("/ask", question=QUESTION)
        assert (answer["sought"]["question"], answer["cost_usd"]) == (f"{QUESTION} rewritten", 0.5)
        assert answer["sought"]["texts"] == [QUESTION, "bus"]
        assert answer["timings"]["rewrite"] > 0
        assert not late
        whole = server.payload("/ask", question="Whole.", within={"whole": ["bus.md"]})  # this does not search
        assert whole["sought"]["texts"] == ["Whole."]
        slow.let.set()
        waiting.join(PATIENT)
        assert late[0]["sought"]["question"] == "When does it leave. rewritten"
        rewriter = server.served.models[0].batcher.pipeline.queries
        assert isinstance(rewriter, KnownQueries)
        assert rewriter._known == {}
        (sought,) = rewriter.rewrite([Query("unknown", QUESTION)])
        assert sought == Sought(QUESTION, (QUESTION,))


def test_a_rewriter_whose_model_fails_is_left_out(tmp_path: Path) -> None:
    with serving(error(503, "overloaded", {"x-should-retry": "false"})) as script:
        asking = ("queries=rewrite", f"queries.generator.base_url={script.url}", "queries.generator.model=tiny")
        bundle = small_bundle(tmp_path / "b", "generator=extractive", *asking)
        with running([bundle], tmp_path / "serve.db") as server:
            first = server.payload("/chat", question=QUESTION)
            assert script.asked == []
            second = server.payload("/chat", question="And in winter?", session=first["session"])
            assert second["sought"]["note"].startswith("searched for as typed")
            script.steps = [say("When does the ferry leave in winter?")]
            third = server.payload("/chat", question="And in winter?", session=first["session"])
            assert third["sought"]["question"] == "When does the ferry leave in winter?"


@dataclass(frozen=True)
class Holding:
    """A component with a generator in it."""

    generator: Any
    retries: str = "many"


def test_endpoints_get_few_retries_wherever_they_are() -> None:
    changed = with_few_retries(Holding(Holding(OpenAiGenerator("m", retries=5))))
    assert changed.generator.generator.retries == RETRIES
    assert changed.retries == "many"


@pytest.mark.parametrize("component", [Holding(OpenAiGenerator("m", retries=RETRIES)), Holding(None), "text", OpenAiGenerator])
def test_a_component_with_few_retries_is_not_copied(component: Any) -> None:
    assert with_few_retries(component) is component
