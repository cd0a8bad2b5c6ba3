"""Policies in sweeps: replies are stored and a killed sweep goes on, a server that fails ends a batch, forecasts count caps."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.costly_sweep import QUESTIONS, ask_of, planned, replies, swept, write_study
from support.scripted_server import Script, answer, serving

from rag.execution.store.serialisation import looks_of
from rag.execution.store.store import Store

FIXED = ", check=none, policy=agent, policy.calls=2, policy.generator.runtime.retries=0"
USAGE = {"prompt_tokens": 90, "completion_tokens": 10}


def said(question: str) -> str:
    return '{"thought": "more", "tool": "search", "query": "ticket"}' if question.startswith("Passages") else "It is free [1]."


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Iterator[Script]:
    with serving(answer(said, USAGE)) as server:
        ask_of(server, monkeypatch)
        yield server


def test_steps_are_stored_and_a_second_run_asks_nothing(here: Path, script: Script) -> None:
    store = Store(str(here / "store"))
    made = planned(write_study(here, fixed=FIXED), store)
    done = swept(made, store)
    look = next(stage for stage in made.stages.values() if stage.name == "policy")
    looks = [each for each in looks_of(store.read(look.entry).meta) if each]
    assert [[step.act for step in each.steps][:3] for each in looks] == [["search", "think", "search"]] * QUESTIONS
    assert {each.tokens for each in looks} == {200}
    assert done.board.rows[0].measured["tokens"] == 300 * QUESTIONS
    asked = len(script.asked)
    store.remove(look.entry)
    again = planned(write_study(here, fixed=FIXED), store)
    swept(again, store)
    assert len(script.asked) == asked == 3 * QUESTIONS
    assert replies(again, store) == replies(made, store)


def test_a_forecast_counts_the_cap(here: Path, script: Script) -> None:
    store = Store(str(here / "store"))
    limits = ("policy=agent", "policy.tokens=null")
    spending = [planned(write_study(here), store, *limits, f"policy.calls={calls}").estimate.spending for calls in (1, 3)]
    alone = planned(write_study(here), store).estimate.spending
    # A request has its question, and in the mean the passages of (calls + 1) / 2 searches; k=2, and 200 tokens each.
    expected = [QUESTIONS * calls * (200 + 400 * (calls + 1) // 2 + 100) for calls in (1, 3)]
    assert [each.likely.tokens - alone.likely.tokens for each in spending] == expected
    capped = planned(write_study(here), store, "policy=agent", "policy.tokens=50").estimate.spending
    assert capped.most.tokens - alone.most.tokens == QUESTIONS * 50


def test_a_server_that_fails_ends_a_batch_and_gives_no_result(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(lambda exchange: exchange.send_error(503)) as server:
        ask_of(server, monkeypatch)
        store = Store(str(here / "store"))
        done = swept(planned(write_study(here, fixed=FIXED), store), store)
    assert "no reply to 3 questions in a row" in done.board.rows[0].error


def test_a_forecast_counts_two_shapes_and_one_more_search(here: Path, script: Script) -> None:
    store = Store(str(here / "store"))
    parts = {"shape": ["shape=model"], "condense": ["condense=model"]}
    parts |= {"both": ["shape=model", "condense=model"], "policy": ["policy=agent", "policy.calls=1", "policy.tokens=null"]}
    parts |= {"all": [*parts["both"], *parts["policy"]]}
    found = {name: planned(write_study(here), store, *given).estimate.spending for name, given in parts.items()}
    alone = planned(write_study(here), store).estimate.spending
    calls = {name: (each.likely.tokens - alone.likely.tokens) / QUESTIONS for name, each in found.items()}
    one, first = 200 + 2 * 200 + 100, 200 + 100  # the question, k=2 passages and the reply; the first shape has no passages
    both = first + 3 * one
    assert calls == {"shape": first + one, "condense": one, "both": both, "policy": one, "all": both + 2 * one}
