"""What it saves to run every distinct stage once: the 288 trials of experiments/grid.yaml.

Stage seconds are the stages' own, without planning, reading and writing. Another program on the machine can only make a wall
clock run longer, so a bound holds if either the wall or the processors keep it. Both are printed.
"""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from bench.measuring import Report, Seconds, needs_data, planned, rag, swept, timed

from rag.components.embedders.static import StaticEmbedder
from rag.config.experiment import Experiment, Trial, load
from rag.execution.store.store import Store
from rag.execution.sweep.sweep import Sweep
from rag.tracking import mlflow_client, sweep_runs

pytestmark = [pytest.mark.bench, needs_data]

TRIALS = 288
EVERY = 11
"""The distance of the trials that are sampled. It shares no factor with the axes, so every choice of each is among them."""


@pytest.fixture(autouse=True)
def distilled(bench: Path) -> None:
    """Distil the static model before any clock runs, as its first use would; it is kept for all later ones."""
    StaticEmbedder().embed_queries(["warm"])


def test_a_sweep_costs_its_distinct_stages_and_again_costs_none(bench: Path) -> None:
    first = rag("sweep", "grid", "split=all", "store=store", "--no-track", "--json")
    again = rag("sweep", "grid", "split=all", "store=store", "--no-track", "--json")
    own = Seconds(first.content["stage_seconds"], first.content["cpu_seconds"])
    bound = Seconds(1.15 * own.wall + 5, 1.15 * own.cpu + 5)
    report = Report(
        "288 trials as a command of its own, untracked, the static model distilled before", ("what", "wall s", "CPU s")
    )
    report.row("distinct stages, their own seconds", own.wall, own.cpu)
    report.row("whole sweep on an empty store", first.taken.wall, first.taken.cpu)
    report.row("at most: 1.15 × own + 5", bound.wall, bound.cpu)
    report.row("whole sweep × own", first.taken.wall / own.wall, first.taken.cpu / own.cpu)
    report.row("whole sweep again", again.taken.wall, again.taken.cpu)
    report.note(f"first: {first.content['stages']}, again: {again.content['stages']}")
    report.show()
    assert first.content["stages"]["ran"] == first.content["stages"]["distinct"]
    assert again.content["stages"]["ran"] == 0
    assert again.content["trials"] == first.content["trials"]
    assert first.taken.wall <= bound.wall or first.taken.cpu <= bound.cpu


def test_faithfulness_of_the_recommended_trial_costs_little(bench: Path) -> None:
    told = rag("sweep", "quickstart", "store=store", "--no-track", "--json")
    store = Store("store")
    found = [meta for key in store.keys("stages") if "assessments" in (meta := store.read_meta(key) or {})]
    own = Seconds(*(sum(meta["cost"][clock] for meta in found) for clock in ("seconds", "cpu")))
    rest = Seconds(told.taken.wall - own.wall, told.taken.cpu - own.cpu)
    report = Report("make sweep on an empty store, untracked", ("what", "wall s", "CPU s"))
    report.row("judging the recommended trial and its controls", own.wall, own.cpu)
    report.row("all else", rest.wall, rest.cpu)
    report.note(f"{sum(meta['asked'] for meta in found)} judgements in {len(found)} stages")
    report.show()
    assert len(found) == 4
    assert own.cpu <= 0.15 * rest.cpu


def test_a_sweep_costs_a_fifteenth_of_its_trials_one_by_one(bench: Path) -> None:
    study = load("grid", ["split=all"])
    # Both sides find imports and models loaded.
    for embedder in ("hashing", "static"):
        swept(alone(study, planned(study)[0].trials[0].trial, f"embedder={embedder}", "store=memory://warm"))
    with timed() as together:
        done, _ = swept("grid", "split=all", "store=store")
    trials = [found.trial for found in done.plan.trials][::EVERY]
    singles = [one_by_one(study, trial, number) for number, trial in enumerate(trials)]
    show_ratio(done, together, singles)
    scale = TRIALS / len(trials)
    wall, cpu = (scale * sum(getattr(taken, clock) for taken, _ in singles) for clock in ("wall", "cpu"))
    assert wall / together.wall >= 15 or cpu / together.cpu >= 15


def alone(study: Experiment, trial: Trial, *overrides: str) -> Experiment:
    """One trial of a study as a study of its own."""
    choices = {axis: {choice.label: choice for choice in choices} for axis, choices in study.axes.items()}
    chosen = (override for axis, label in trial.choices.items() for override in choices[axis][label].overrides)
    return replace(study, fixed=(*study.fixed, *chosen, *overrides), axes={})


def one_by_one(study: Experiment, trial: Trial, number: int) -> tuple[Seconds, Seconds]:
    """A trial with nothing to share, from its config to its leaderboard, and the sum of its stages alone."""
    with timed() as taken:
        done, _ = swept(alone(study, trial, f"store=memory://single{number}"))
    assert done.counts()["reused"] == 0
    return taken, stages_of(done)


def stages_of(done: Sweep) -> Seconds:
    ran = done.outcomes.values()
    return Seconds(sum(outcome.seconds for outcome in ran), sum(outcome.cpu for outcome in ran))


def show_ratio(done: Sweep, together: Seconds, singles: list[tuple[Seconds, Seconds]]) -> None:
    own, scale = stages_of(done), TRIALS / len(singles)
    columns = ("what", "together wall s", "together CPU s", "one by one wall s", "one by one CPU s", "wall ratio", "CPU ratio")
    report = Report(f"288 trials together and one by one ({len(singles)} of them, scaled)", columns)
    for place, (name, one) in enumerate((("plan, run, rank", together), ("stages alone", own))):
        wall, cpu = (scale * sum(getattr(single[place], clock) for single in singles) for clock in ("wall", "cpu"))
        report.row(name, one.wall, one.cpu, wall, cpu, wall / one.wall, cpu / one.cpu)
    seconds, counts = Counter[str](), Counter[str]()
    for outcome in done.outcomes.values():
        seconds[done.plan.stages[outcome.key].name] += outcome.cpu
        counts[done.plan.stages[outcome.key].name] += 1
    told = ", ".join(f"{name} {counts[name]} in {spent:.2f}" for name, spent in seconds.most_common())
    report.note(f"CPU seconds by stage: {told}.")
    report.note("One by one: a fresh store in memory for each; imports and models loaded before, on both sides.")
    report.show()


def test_tracking_costs_sixty_milliseconds_a_trial(bench: Path) -> None:
    done, store = swept("grid", "split=all", "store=store")
    with timed() as ready:
        mlflow_client.prepare(None, sweep_runs.FOLDER)
    with timed() as sent:
        sweep_runs.send(done, store, "rag track grid")
    with timed() as again:
        sweep_runs.send(done, store, "rag track grid")
    report = Report("288 trials to MLflow on SQLite", ("what", "wall s", "CPU s", "wall ms a trial", "CPU ms a trial"))
    for name, taken in (("import MLflow, make its tables", ready), ("send 288 trials", sent), ("send them again", again)):
        report.row(name, taken.wall, taken.cpu, 1000 * taken.wall / TRIALS, 1000 * taken.cpu / TRIALS)
    report.show()
    assert 1000 * sent.wall / TRIALS <= 60 or 1000 * sent.cpu / TRIALS <= 60
