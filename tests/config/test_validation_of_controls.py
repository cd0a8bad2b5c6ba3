"""Controls in trials: planned, refused, run, and nothing of ordinary trials changed by them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.small_set import AXES, write_experiment

from rag.config.experiment import Trial, ad_hoc, load
from rag.config.validation import CONTROLS
from rag.core.errors import UserError
from rag.execution.graph import plan
from rag.execution.graph.plan import Plan, PlannedTrial
from rag.execution.graph.stage_inputs import replies_of
from rag.execution.store.store import Store
from rag.execution.sweep import sweep, trial_scores
from rag.execution.sweep.open_config import open_config

GENERATING = ["embedder=hashing", "embedder.dimensions=64", "latency=2", "generator=extractive", "k=2", "chunker=fixed"]


def ran(golden: Path, *overrides: str) -> tuple[Plan, Store, sweep.Sweep]:
    fixed = [f"dataset.path={golden}", "dataset=native", *GENERATING, "chunker.size=60", *overrides]
    ready = sweep.prepare(ad_hoc(fixed))
    return ready.plan, ready.store, sweep.run(ready.plan, ready.store, ready.settings, lambda key, outcome: None)


@pytest.fixture
def swept(here: Path, golden: Path) -> tuple[dict[str, PlannedTrial], Plan, Store, sweep.Sweep]:
    """One trial with every control."""
    made, store, done = ran(golden, f"control={','.join(CONTROLS)}")
    return {trial.trial.config["control"]: trial for trial in made.trials}, made, store, done


def replies(trial: PlannedTrial, made: Plan, store: Store) -> list[str]:
    assert trial.ends.check
    entry = store.read(made.stages[trial.ends.check].entry)
    assert entry
    return [reply.text for reply in replies_of(entry)]


def mean(trial: PlannedTrial, made: Plan, store: Store, column: str) -> float:
    return float(np.nanmean(trial_scores.read_scores(trial, made, store).scores.column(column)))


def test_every_control_runs_and_reads_what_it_says(swept: Any) -> None:
    trials, made, store, done = swept
    assert [row.status for row in done.board.rows] == ["done"] * len(CONTROLS)
    assert not any(replies(trials["closed_book"], made, store))
    assert mean(trials["closed_book"], made, store, "token_f1") == 0 == mean(trials["closed_book"], made, store, "recall@5")
    assert mean(trials["gold_contexts"], made, store, "recall@5") == 1
    assert mean(trials["gold_contexts"], made, store, "token_f1") >= mean(trials["none"], made, store, "token_f1") > 0
    assert mean(trials["shuffled_contexts"], made, store, "ndcg@10") < 0.9


def test_ordinary_trials_are_what_they_were(here: Path, golden: Path) -> None:
    path = write_experiment(here / "small.yaml", golden, AXES)
    ready = sweep.prepare(load(str(path)))
    assert {stage.name for stage in ready.plan.stages.values()}.isdisjoint({"uncut", "shuffle", "no contexts", "gold contexts"})
    sweep.run(ready.plan, ready.store, ready.settings, lambda key, outcome: None)
    # As trials were written down before there were controls: without the key.
    trials = [
        Trial(trial.name, trial.choices, {key: value for key, value in trial.config.items() if key != "control"})
        for trial in load(str(path)).trials()
    ]
    again = plan.assemble(ready.plan.experiment, trials, ready.store)
    assert not again.to_run
    assert [trial.trial_id for trial in again.trials] == [trial.trial_id for trial in ready.plan.trials]


def test_one_question_has_no_other(here: Path, golden: Path) -> None:
    questions = golden / "questions.jsonl"
    questions.write_text(questions.read_text("utf-8").splitlines()[0] + "\n", "utf-8")
    with pytest.raises(UserError, match="one question has no other"):
        ran(golden, "control=shuffled_contexts")


@pytest.mark.parametrize("control", CONTROLS[1:])
def test_a_typed_question_has_no_gold(here: Path, golden: Path, control: str) -> None:
    trial = ad_hoc(["dataset=native", f"dataset.path={golden}", f"control={control}", *GENERATING]).trials()[0]
    with pytest.raises(UserError, match="a typed question has none"):
        open_config(trial.config)
