"""Routes and policies: how their looks travel from the search to the answer, and what they cost."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rag.config.experiment import ad_hoc
from rag.core.types import Query
from rag.execution.graph.stage_inputs import answers_of, corpus_of
from rag.execution.sweep import sweep
from rag.execution.sweep.open_config import open_config
from rag.pipeline.shapes.answer_json import answer_json

GIVEN = ("dataset=native", "dataset.path=../golden", "embedder=hashing", "latency=0", "chunker.size=60", "k=3")
PLUGIN = '''
from rag.core.looks import LookStep
from rag.core.roles.looking import Looked
from rag.core.types import Sought


class TwiceLook:
    """Searches twice."""

    def look(self, query, tools):
        found = [tools.search([query.text]), tools.search(["ticket"])]
        step = LookStep("search", "ticket", found=(), tokens=7, cost=0.25)
        return Looked(tools.rerank(query.text, found), Sought(query.text, (query.text, "ticket")), ("Tickets: {2}",), (step,))
'''


@pytest.fixture
def plugin(here: Path, conf: Callable[[str, str], Path], monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """`policy=twice`, with a step that a model is said to have taken."""
    conf("policy/twice.yaml", "_target_: looking_plugin.policies.TwiceLook\n")
    (here / "looking_plugin").mkdir()
    (here / "looking_plugin" / "__init__.py").touch()
    (here / "looking_plugin" / "policies.py").write_text(PLUGIN, "utf-8")
    monkeypatch.syspath_prepend(str(here))
    monkeypatch.setattr("rag.execution.store.cached_replies.plugins", lambda: ("looking_plugin",))
    yield
    for name in ("looking_plugin", "looking_plugin.policies"):
        sys.modules.pop(name, None)


def test_the_look_of_a_policy_reaches_answer_json_and_cost(plugin: None, golden: Path) -> None:
    config = [*GIVEN, "policy=twice", "metrics=[token_f1]", "split=all"]
    ready = sweep.prepare(ad_hoc(config))
    done = sweep.run(ready.plan, ready.store, ready.settings, lambda key, outcome: None)
    assert [row.error for row in done.board.rows] == [""]
    entry = {stage.name: ready.store.read(stage.entry) for stage in ready.plan.stages.values()}
    trial = ready.plan.trials[0]
    corpus = corpus_of(entry["chunk"], trial.golden)
    stored = answers_of(entry["check"], corpus, [example.query for example in trial.golden.examples])
    pipeline = open_config(trial.trial.config)
    for answer in stored:
        live = pipeline.answer(answer.query)
        assert answer.look == live.look
        assert answer.look.steps[0].tokens == 7
        assert answer.look.results == ("Tickets: {2}",)
    shown = answer_json(live, live.sought, pipeline.corpus)
    assert shown["look"]["steps"][0]["cost_usd"] == shown["cost_usd"] == 0.25
    assert shown["look"]["tokens"] == 7
    row = done.board.rows[0]
    assert row.measured["tokens"] == 7 * len(stored)
    assert row.measured["cost_usd"] == 0.25 * len(stored)
    query = Query("q", "What does a bus ticket cost?")
    prompt = pipeline.prepare(query, pipeline.trace(query)).request.messages[-1].content
    assert "What the records of all documents say:\nTickets: {2}\n\nSources:" in prompt
