"""What a run may spend on models: it stops there, keeps what is done, and goes on; and what counts as a use of a holdout."""

import math
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread

import pytest
from support.costly_sweep import QUESTIONS, answering, planned, replies, swept, write_study
from support.scripted_server import Script, say

from rag.analysis.compare import trials
from rag.core.assessments import Spent
from rag.core.errors import BudgetError, ConfigError, ProblemsError
from rag.execution.store import holdout_log, maintenance
from rag.execution.store.budget import Ledger, Terms
from rag.execution.store.store import Entry, Store
from rag.execution.sweep import sweep
from rag.reporting.terminal.leaderboards import counted
from rag.reporting.terminal.output import out
from rag.tracking import sweep_runs

PRICE = ", 'generator.runtime.price={prompt: 1000, completion: 1000}'"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Iterator[Script]:
    with answering(monkeypatch) as server:
        yield server


def test_a_ledger_adds_up_and_enters_what_fits(store: Store) -> None:
    ledger = Ledger(store, Terms(tokens=100))
    with ledger.entered([Spent(40), Spent(40), Spent(40)]) as (count, settle):
        assert count == 2
        assert ledger.spent().tokens == 80, "what is under way counts as it was expected"
        settle(Spent(30, 0.25))
    assert ledger.spent() == Spent(30, 0.25)
    with ledger.entered([Spent(70), Spent(1)]) as (count, settle):
        assert count == 1
        settle(Spent())
    with pytest.raises(BudgetError, match=r"30 tokens, 0\.2500 US dollars"), ledger.entered([Spent(71)]):
        pass
    assert ledger.spent() == Spent(30, 0.25), "what was refused leaves nothing"
    with Ledger(store, Terms(usd=0.7)).entered([Spent(1, 0.3)] * 3) as (count, _):
        assert count == 2


def test_a_store_that_is_cleared_meanwhile_pays_for_nothing_twice(store: Store) -> None:
    ledger = Ledger(store, Terms(tokens=100))
    with ledger.entered([Spent(90)]) as (_, settle):
        settle(Spent(90))
    assert maintenance.collect(store, days=-1)["removed"] == 1
    assert ledger.spent() == Spent(90)
    with pytest.raises(BudgetError), ledger.entered([Spent(11)]):
        pass


def test_what_others_hold_is_not_called_spent(store: Store) -> None:
    ledger = Ledger(store, Terms(tokens=100))
    with ledger.entered([Spent(20, 0.5)]) as (_, settle):
        settle(Spent(10, 0.25))
    held = r"budget\.tokens: 10 tokens, 0\.2500 US dollars are spent, 80 tokens at an unknown price are held for requests that"
    with ledger.entered([Spent(80, math.nan)]) as (_, settle):
        with pytest.raises(BudgetError, match=held), ledger.entered([Spent(20)]):
            pass
        settle(Spent(30))
    with ledger.entered([Spent(20)]) as (count, _):
        assert count == 1


@pytest.mark.parametrize("terms", [Terms(tokens=100), Terms()])
def test_a_batch_that_broke_off_is_not_counted(store: Store, terms: Terms) -> None:
    ledger = Ledger(store, terms)
    with pytest.raises(RuntimeError), ledger.entered([Spent(40)]):
        raise RuntimeError
    assert ledger.spent() == Spent()


def test_an_unknown_price_fits_no_budget_in_money(store: Store) -> None:
    with pytest.raises(BudgetError), Ledger(store, Terms(usd=5.0)).entered([Spent(1, math.nan)]):
        pass
    with Ledger(store, Terms(tokens=5)).entered([Spent(1, math.nan)]) as (count, _):
        assert count == 1


def test_many_enter_no_more_than_fits(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    looked = Ledger.spent
    monkeypatch.setattr(Ledger, "spent", lambda self: (looked(self), time.sleep(0.005))[0])

    def enter(_: int) -> int:
        ledger, entered = Ledger(Store(store.root), Terms(tokens=100)), 0
        ledger.space = "ledger/shared"
        with suppress(BudgetError):
            while True:
                with ledger.entered([Spent(3)] * 5) as (count, settle):
                    settle(Spent(3 * count))
                    entered += count
        return entered

    with ThreadPoolExecutor(4) as threads:
        assert sum(threads.map(enter, range(4))) == 33, "3 tokens each, 100 in all"


def test_who_runs_a_stage_may_enter_a_batch(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rag.execution.store.store.LOCKS", 1)
    entered = Event()

    def run() -> None:
        with store.claim("stages/one"), Ledger(store, Terms(tokens=10)).entered([Spent(1)]):
            entered.set()

    Thread(target=run, daemon=True).start()
    assert entered.wait(60), "it waits for itself"


def test_a_budget_of_nothing_asks_nothing_and_what_needs_no_model_runs(here: Path, store: Store, script: Script) -> None:
    study = write_study(here, '  generator: ["generator.max_tokens=10", "generator=extractive"]', generator="openai")
    study.write_text(study.read_text("utf-8").replace(", generator=openai", ""), "utf-8")
    text = study.read_text("utf-8").replace("generator.max_tokens=10", "generator=openai")
    study.write_text(text, "utf-8")
    done = swept(planned(study, store, "budget.tokens=0"), store)
    assert script.asked == []
    assert {row.choices["generator"]: row.status for row in done.board.rows} == {"extractive": "done", "openai": "not run"}


def test_money_needs_a_known_price(here: Path, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "https://models.invalid/v1")
    monkeypatch.setenv("OPENAI_MODEL", "nobody-knows")
    with pytest.raises(ProblemsError, match=r"budget\.usd: .* nobody-knows@models\.invalid"):
        planned(write_study(here), store, "budget.usd=5")
    assert planned(write_study(here), store, "budget.tokens=5").to_json()["most"]["cost"] is None


def test_trials_share_one_budget(here: Path, store: Store, script: Script) -> None:
    with pytest.raises(ConfigError, match="differ between trials"):
        planned(write_study(here, "  b: budget.tokens=1,2"), store)


def test_a_budget_changes_no_trial_and_no_stage(here: Path, store: Store, script: Script) -> None:
    study = write_study(here)
    free, bound = planned(study, store), planned(study, store, "budget.tokens=5", "replay=only")
    assert [trial.trial_id for trial in free.trials] == [trial.trial_id for trial in bound.trials]
    assert free.stages.keys() == bound.stages.keys()


def test_the_estimate_comes_with_what_it_took(here: Path, store: Store, script: Script) -> None:
    study = write_study(here, fixed=f", generator.max_tokens=10{PRICE}")
    made = planned(study, store)
    expected = made.estimate.spending.likely.tokens
    assert expected == QUESTIONS * (3 * 200 + 10)
    done = swept(made, store)
    outcome = done.to_json()
    money = {"tokens": expected, "cost_usd": pytest.approx(expected / 1000)}
    assert outcome["estimated"] == {**money, "most": money}
    assert outcome["spent"] == {"tokens": 100 * QUESTIONS, "cost_usd": pytest.approx(0.1 * QUESTIONS)}
    sent = sweep_runs.record(done, store)
    metrics = {name: sent.metrics[name] for name in ("spent_tokens", "spent_cost_usd", "planned_tokens")}
    assert metrics == {"spent_tokens": 600, "spent_cost_usd": pytest.approx(0.6), "planned_tokens": expected}
    with out.capture() as said:
        counted(done)
    assert "Models took 600 tokens, 0.6000 US dollars; the plan said about 3,660 tokens, 3.6600 US dollars" in said.get()
    again = swept(planned(study, store), store)
    assert again.to_json()["spent"] == {"tokens": 0, "cost_usd": 0.0}
    assert again.board.rows[0].measured["cost_usd"] == pytest.approx(0.1 * QUESTIONS), "a trial costs what it cost"


def test_trials_that_ran_under_different_budgets_are_compared(here: Path, script: Script) -> None:
    store, ids = Store(str(here / ".rag" / "store")), []
    for k in (1, 2):
        study = write_study(here, f"  k: k={k}").rename(here / f"study{k}.yaml")
        done = swept(planned(study, store, f"budget.tokens={5000 + k}"), store)
        sweep.write(done)
        ids.append(done.board.rows[0].trial_id)
    assert [side.result.trial_id for side in trials.sides(ids)] == ids


def test_models_are_not_timed_where_requests_count(here: Path, store: Store, script: Script) -> None:
    study = write_study(here)
    study.write_text(study.read_text("utf-8").replace("latency=0", "latency=2"), "utf-8")
    assert planned(study, store).trials[0].ends.latency
    assert not planned(study, store, "budget.tokens=5").trials[0].ends.latency
    assert not planned(study, store, "replay=only").trials[0].ends.latency


def test_a_server_that_does_not_count_is_counted_by_characters(here: Path, store: Store, script: Script) -> None:
    script.steps = [say("Seven at the pier.", None)]
    done = swept(planned(write_study(here), store), store)
    assert done.spent.tokens > QUESTIONS * 20
    assert replies(done.plan, store)[0] == ["Seven at the pier."] * QUESTIONS


GOLDEN = "ab" * 32


def test_a_use_is_a_set_of_trials_with_a_new_one(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    assert holdout_log.count(store, GOLDEN) == 0
    assert holdout_log.log_use(store, GOLDEN, ["a", "b"], "one") == 1
    assert holdout_log.log_use(store, GOLDEN, ["b", "a"], "one") == 1
    assert holdout_log.log_use(store, GOLDEN, ["b", "c"], "one") == 2
    assert holdout_log.log_use(store, GOLDEN, ["a", "c"], "two") == 2
    assert holdout_log.count(store, GOLDEN) == 2
    assert holdout_log.log_use(store, "cd" * 32, ["a"], "one") == 1


def test_nothing_that_clears_a_store_forgets_a_use(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    holdout_log.log_use(store, GOLDEN, ["a"], "one")
    store.write("stages/abc", Entry(meta={}))
    assert maintenance.collect(store, days=0.0)["removed"] == 1
    assert holdout_log.count(store, GOLDEN) == 1
    assert maintenance.stats(store)["spaces"]["looks"]["entries"] == 1
    assert maintenance.verify(store) == {"store": str(tmp_path), "entries": 1, "damaged": []}
