"""What sweeps cost: distinct stages once, again, and trial by trial."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from bench.measuring import Finished, Row, Rows, chosen, cpu_seconds, public, rag, swept

from rag.config.experiment import Experiment, Trial, load

EVERY = 23
"""The distance of the trials that run one by one; it shares no factor with the axes, so each choice is among them."""


def untracked(study: str, *overrides: str) -> Finished:
    """`rag sweep` without MLflow, on the store of the working folder."""
    return rag("sweep", study, *overrides, "store=store", "--no-track", "--json")


def twice(what: str, study: str, *overrides: str, notes: tuple[str, str] = ("", "")) -> Iterator[Row]:
    """A sweep on an empty store beside its stages, and again beside the first."""
    first, again = untracked(study, *overrides), untracked(study, *overrides)
    stages = first.content["stages"]
    told = f"{stages['distinct']} distinct stages, {first.told}"
    yield Row(f"{what}, cold", first.cpu, "CPU s", "its stages alone", first.content["cpu_seconds"], f"{told}{notes[0]}")
    told = f"{again.content['stages']['ran']} stages ran, {again.told}"
    yield Row(f"{what}, again", again.cpu, "CPU s", "cold", first.cpu, f"{told}{notes[1]}")


def fusion(folder: Path) -> Rows:
    """experiments/fusion.yaml, 96 evaluations on chroma-a: MiniLM and BM25 over long texts."""
    public("chroma-a")
    published = tuple(f"; AutoRAG 0.3.27 published {seconds} CPU s" for seconds in (259, 150))
    yield from twice("chroma-a, 96 evaluations", "fusion", "split=all", notes=(published[0], published[1]))


def grid(folder: Path) -> Rows:
    """The 288 trials of experiments/grid.yaml: as a command, with MLflow, and beside some of its trials one by one."""
    public("chroma-a")
    chosen("embedder", "static").embed_queries(["distil the model before a clock runs"])
    yield from twice("288 trials", "grid", "split=all")
    again, sent = untracked("grid", "split=all"), rag("sweep", "grid", "split=all", "store=store", "--json")
    yield Row("288 trials again, first sent to MLflow", sent.cpu, "CPU s", "without MLflow", again.cpu)
    study = load("grid", ["split=all"])
    done, _ = swept(stored(study, "warm"))
    together = cpu_seconds(partial(swept, stored(study, "together")))
    trials = [found.trial for found in done.plan.trials][::EVERY]
    singles = sum(cpu_seconds(partial(swept, alone(study, one))) for one in trials)
    note = f"{len(trials)} trials, scaled to 288; imports and models loaded before"
    yield Row("288 trials one by one", singles * 288 / len(trials), "CPU s", "together, in one process", together, note)


def stored(study: Experiment, name: str) -> Experiment:
    """The study on a store in memory."""
    return replace(study, fixed=(*study.fixed, f"store=memory://{name}"))


def alone(study: Experiment, trial: Trial) -> Experiment:
    """One trial of a study as a study of its own, with nothing to share."""
    choices = {axis: {choice.label: choice for choice in choices} for axis, choices in study.axes.items()}
    own = (override for axis, label in trial.choices.items() for override in choices[axis][label].overrides)
    return stored(replace(study, fixed=(*study.fixed, *own), axes={}), trial.name)
