"""The ratio of the latencies of two pipelines, timed in turns in this process."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rag.analysis import baseline
from rag.analysis.baseline import Baseline
from rag.config.identity import digest
from rag.core.arrays import Floats
from rag.core.errors import UserError
from rag.core.types import Example
from rag.evaluation.data.golden import Golden
from rag.execution.graph.engine import Runner
from rag.execution.graph.open_pipeline import open_pipeline
from rag.execution.graph.plan import components_for
from rag.execution.graph.stage_graph import Graph, Stage
from rag.execution.graph.stage_inputs import corpus_of, records_of
from rag.execution.graph.trial_graph import add_trial
from rag.execution.store.store import Entry
from rag.execution.sweep.sweep import Prepared
from rag.pipeline.pipeline import Pipeline

SAMPLE, ROUNDS, LEAST = 64, 2, 16
"""The number of questions, the timed runs of each after a warm-up, and the number of questions asked without a time limit."""
BUDGET = 10.0
"""Seconds after which no further question is asked."""
DRAWS = 2_000
SHARE = 95


@dataclass(frozen=True)
class Ratio:
    """p95 of the candidate's seconds / p95 of the baseline's, with its 95 % interval over `n` questions."""

    value: float
    low: float
    high: float
    n: int


def ratio(kept: Baseline, ready: Prepared) -> Ratio | None:
    """Time the pipelines of a baseline and a candidate, or read stored timings of these two on this machine.

    None if their keys are equal: slower code of ours would be in both. UserError if the baseline's pipeline can no longer be
    built.
    """
    today, golden, store = ready.trial.trial.config, ready.trial.golden, ready.store
    graph = Graph(components_for(store))
    there = _stage(graph, baseline.rerunnable(kept, today), golden)
    here = _stage(graph, today, golden)
    if there.key == here.key:
        return None
    place = f"latencies/{digest(there.key, here.key, [SAMPLE, ROUNDS, LEAST, BUDGET])}"
    entry = store.read(place)
    if entry is None:
        runner = Runner(graph, golden.by_digest, store)
        entry = Entry({"seconds": timed(_open(there, runner, golden), _open(here, runner, golden), golden.examples)})
        store.write(place, entry)
    return ratio_of_p95(entry.arrays["seconds"])


def _stage(graph: Graph, config: Mapping[str, Any], golden: Golden) -> Stage:
    """The stage that would time a config: its key depends on the pipeline and the machine."""
    ends = add_trial(graph, {**config, "latency": SAMPLE}, golden)
    if ends.latency is None:
        raise UserError("gate.bounds", "a control has no latency of its own", "take the bound on latency out")
    return graph.stages[ends.latency]


def _open(stage: Stage, runner: Runner, golden: Golden) -> Pipeline:
    entries = {name: runner.obtain(key) for name, key in stage.inputs.items() if key in runner.graph.stages}
    corpus = corpus_of(entries["corpus"], golden)
    components = runner.graph.components.without_inner
    return open_pipeline(stage.nodes, stage.values, corpus, entries, components, records_of(entries))


def timed(base: Pipeline, candidate: Pipeline, examples: tuple[Example, ...]) -> Floats:
    """Seconds of single questions, shape (questions, 2): the minimum of ROUNDS runs after a warm-up, both in turns.

    Which pipeline is first alternates from question to question.
    """
    sample = examples[:: max(1, len(examples) // SAMPLE)][:SAMPLE]
    began, rows = time.perf_counter(), []
    for number, example in enumerate(sample):
        if number >= LEAST and time.perf_counter() - began > BUDGET:
            break
        order = ((0, base), (1, candidate)) if number % 2 == 0 else ((1, candidate), (0, base))
        taken = np.empty((ROUNDS + 1, 2))
        for turn in range(ROUNDS + 1):
            for side, pipeline in order:
                start = time.perf_counter()
                pipeline.answer(example.query)
                taken[turn, side] = time.perf_counter() - start
        rows.append(taken[1:].min(axis=0))
    return np.array(rows)


def ratio_of_p95(seconds: Floats) -> Ratio:
    """The ratio of the 95th percentiles, with a percentile bootstrap interval over questions; `seconds` as `timed` gives."""
    rows = np.random.default_rng(0).integers(0, len(seconds), (DRAWS, len(seconds)))
    ends = np.percentile(seconds[rows], SHARE, axis=1)
    low, high = np.percentile(ends[:, 1] / ends[:, 0], (2.5, 97.5))
    whole = np.percentile(seconds, SHARE, axis=0)
    return Ratio(float(whole[1] / whole[0]), float(low), float(high), len(seconds))
