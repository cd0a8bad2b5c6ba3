"""What sweeps cost: distinct stages once, again, trial by trial, and what every trial costs beside its stages."""

import json
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from bench.measuring import Finished, Row, Rows, chosen, cpu_seconds, declared, public, rag, swept

from rag.config.experiment import Experiment, Trial, load
from rag.execution.sweep.selection.contest import plausible

WORDS = ("index=[bm25s]", "fusion=single", "generator=none", "latency=0")
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


def write_thousand(folder: Path) -> None:
    """A golden set of 200 documents with 5 questions each, in words without meaning."""
    (folder / "documents").mkdir(parents=True)
    rows = []
    for document in range(200):
        parts = [" ".join(f"w{(document * 7 + part * 11 + word * 13) % 997}" for word in range(60)) for part in range(5)]
        (folder / "documents" / f"{document}.md").write_text("\n\n".join(parts), encoding="utf-8")
        for number, part in enumerate(parts):
            places = [{"doc": f"{document}.md", "quote": part}]
            rows.append({"id": f"{document}-{number}", "text": part[:60], "evidence": [{"any": places}]})
    (folder / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def many(name: str, k1: int, k: int) -> str:
    """An experiment of k1 × k trials over the thousand questions."""
    values = ",".join(f"{0.5 + number / 100:.2f}" for number in range(k1))
    axes = {"k1": f"index.bm25s.k1={values}", "k": f"k=range(1,{k + 1})"}
    return declared(name, "native", ["dataset.path=set", *WORDS, "metrics=[recall@k,ndcg@10]"], axes)


def overheads(folder: Path) -> Rows:
    """Plans, sweeps and reports of many trials over 1,000 questions, and the tied set of trials that all differ."""
    write_thousand(folder / "set")
    few, more = (untracked(many(f"x{k1}", k1, 2)) for k1 in (2, 12))
    beside = [each.cpu - each.content["cpu_seconds"] for each in (few, more)]
    own = more.content["cpu_seconds"] / 24
    yield Row("each trial of 24 beside its stages", 50 * (beside[1] - beside[0]), "CPU ms", "its stages", 1000 * own)
    small, large = (rag("plan", many(name, *size), "store=store") for name, size in (("p1", (20, 50)), ("p10", (100, 100))))
    yield Row("rag plan, 10,000 trials", large.cpu, "CPU s", "1,000 trials", small.cpu, large.told)
    study = many("x500", 50, 10)
    yield from twice("500 trials of 1,000 questions", study)
    drawn, again = rag("report", study, "store=store"), untracked(study)
    size = sum(path.stat().st_size for path in (folder / "reports" / "x500").iterdir()) / 1e6
    note = f"{size:.0f} MB of files, {drawn.told}"
    yield Row("rag report of the 500 trials", drawn.cpu, "CPU s", "the sweep again", again.cpu, note)
    random, taken = np.random.default_rng(0), []
    for trials in (300, 600):
        values = random.random((1_000, 1)) + random.normal(0, 0.03, trials) + random.normal(0, 0.15, (1_000, trials))
        taken.append(cpu_seconds(partial(plausible, values, np.arange(1_000) // 5)))
    yield Row("tied set of 600 trials that all differ", taken[1], "CPU s", "300 trials", taken[0], "quadratic would be 4")
