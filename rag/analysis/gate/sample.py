"""Check that today's code gives the scores that a gate reads: compute a sample of questions without stored stages.

If a key misses a piece of code, the store and a baseline of that key repeat scores that the code no longer gives.
"""

import hashlib
import re
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import rag
from rag.analysis.baseline import DIGITS, Baseline
from rag.analysis.gate import measure
from rag.analysis.gate.measure import Gated
from rag.config.build import TARGET, Components
from rag.config.identity import digest
from rag.config.validation import control_of
from rag.core.arrays import Ints
from rag.core.errors import DataError, ReplayError, ServiceError, UserError
from rag.core.figures import figure
from rag.core.roles import AssessedMetric
from rag.evaluation.answer_judging import AskingMetric
from rag.evaluation.data.golden import Golden
from rag.evaluation.scoring import Scores, parse_column
from rag.execution.graph.plan import components_for
from rag.execution.graph.stage_functions import RUNNERS
from rag.execution.graph.stage_graph import Graph, golden_of
from rag.execution.graph.stage_inputs import Job
from rag.execution.graph.trial_graph import add_trial
from rag.execution.store.budget import Ledger, Terms
from rag.execution.store.store import Entry, Store
from rag.execution.sweep.sweep import Prepared

SIZE = 32
"""The number of questions that are computed."""
SLACK = 2 * 10**-DIGITS
"""The greatest difference between machines of sums rounded to DIGITS."""

KEY = re.compile("[0-9a-f]{64}")


def check_store(kept: Baseline, store: Store, path: Path) -> None:
    """Raise DataError if the scores of a baseline differ from those of its stage in the store, if the store has that stage."""
    remedy = f"take it from git, or make it: rag study baseline {kept.experiment}"
    if not KEY.fullmatch(kept.score):  # it becomes part of a path
        raise DataError(str(path), f"names {kept.score[:80]!r} as the key of its scores, which is not a SHA-256", remedy)
    entry = store.read(f"stages/{kept.score}")
    if entry is None:
        return
    try:
        scores = Scores.from_arrays(entry.arrays)
        odd = _difference(kept.result.scores, scores, kept.result.scores.columns)
        if set(scores.query_ids) != set(kept.result.scores.query_ids):
            odd = f"it has {len(scores.query_ids)} questions, the file {len(kept.result.questions)}, and they are not the same"
    except (KeyError, ValueError):
        odd = "that stage has no such columns"
    if odd:
        what = f"contradicts the scores in the store under its key: {odd}"
        raise DataError(str(path), what, remedy)


def computed(gated: Gated) -> tuple[str, str]:
    """Compute a sample of the candidate's questions: a sentence on the result, and the error if it failed.

    The sample is seeded by the candidate's key and our code, so it changes with the code. Vectors, pair scores and replies of
    models are read from the store; generators that cost money are not called. Nothing is computed for a candidate whose stages
    all ran in this process. DataError if scores differ.
    """
    ready = gated.candidate
    if not gated.same and set(ready.plan.graph.ancestors(ready.trial.ends.score)) <= set(ready.plan.to_run):
        return "", ""
    if why := _unasked(ready):
        return f"No question was computed: {why}.", ""
    rows = chosen(ready)
    golden = replace(ready.trial.golden, examples=tuple(ready.trial.golden.examples[row] for row in rows))
    try:
        scores, left_out = _sampled(_repeatable(ready.trial.trial.config, ready.plan.graph.components), golden, ready.store)
    except (ServiceError, ReplayError) as error:
        return f"No question was computed: {error.where} {error.what}.", ""
    except UserError as error:
        return "", str(error)
    except Exception:  # an error of the candidate, as in a sweep
        return "", traceback.format_exc()
    _check(gated, scores)
    count = f"{len(rows)} of {len(ready.trial.golden.examples)} questions"
    return f"Computed as a check: {count}{left_out}, with the same scores.", ""


def chosen(ready: Prepared) -> Ints:
    """The rows of the sample, ascending; all rows for a control, which may read other questions for one."""
    count = len(ready.trial.golden.examples)
    if control_of(ready.trial.trial.config) != "none":
        return np.arange(count)
    files = sorted(Path(rag.__file__).parent.rglob("*.py"))
    code = hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()
    seed = int(digest(ready.trial.ends.score, code), 16)
    return np.sort(np.random.default_rng(seed).choice(count, min(SIZE, count), replace=False))


def _unasked(ready: Prepared) -> str:
    """Why nothing is computed: a server would have to embed the corpus; empty if not."""
    stages = ready.plan.graph.stages
    for key in ready.plan.graph.ancestors(ready.trial.ends.score):
        node = stages[key].nodes.get("embedder")
        address = getattr(node and ready.plan.graph.components.build(node, "embedder"), "address", "")
        if address and not ready.store.has(stages[key].entry):
            return f"the vectors of {address} are not in the store"
    return ""


def _repeatable(config: Mapping[str, Any], components: Components) -> dict[str, Any]:
    """The config without the columns of models on servers, whose values may differ from run to run."""

    def repeats(column: str) -> bool:
        name = parse_column(column, config["k"]).metric
        metric = components.build(config["metric"][name], f"metric.{name}")
        if isinstance(metric, AssessedMetric):
            return not getattr(components.build(config["judge"], "judge"), "costly", False)
        return not isinstance(metric, AskingMetric)

    return {**config, "metrics": [column for column in config["metrics"] if repeats(column)]}


def _sampled(config: Mapping[str, Any], golden: Golden, store: Store) -> tuple[Scores, str]:
    """The scores, and a note if answers were left out because their replies are not in the store."""
    try:
        return _scores(config, golden, store), ""
    except ReplayError:
        columns = [column for column in config["metrics"] if "@" in column]
        if not columns or control_of(config) != "none":
            raise
        silent = {**config, "generator": {TARGET: "rag.components.generators.none.NoGenerator"}, "metrics": columns}
        return _scores(silent, golden, store), " without the answers, whose replies are not in the store"


def _scores(config: Mapping[str, Any], golden: Golden, store: Store) -> Scores:
    """Run every stage of a trial in order, without reading or writing stored stage results."""
    graph = Graph(components_for(store, Ledger(store, Terms(replay="only"))))
    end = add_trial(graph, config, golden).score
    entries: dict[str, Entry] = {}
    for key in graph.ancestors(end):
        stage = graph.stages[key]
        inputs = {name: entries[source] for name, source in stage.inputs.items() if source in entries}
        job = Job(stage.nodes, stage.values, inputs, golden_of(graph, stage, golden.by_digest), graph.components, store)
        kept = store.read(stage.entry) if stage.name == "embed tokens" else None  # all vectors come from the store
        entries[key] = kept or RUNNERS[stage.name](job)
    return Scores.from_arrays(entries[end].arrays)


def _check(gated: Gated, scores: Scores) -> None:
    kept = measure.result(gated).scores
    odd = _difference(kept, scores, [column for column in scores.columns if column in kept.columns])
    if not odd:
        return
    trial = gated.candidate.trial
    where = str(gated.path) if gated.same else f"trial {trial.trial_id} ({trial.trial.name})"
    what = f"has scores that today's code does not give, though its key is the same: {odd}"
    fresh = f"make it again: rag study baseline {gated.kept.experiment}" if gated.same else "use another store: store=<folder>"
    raise DataError(where, what, f"code, a model or this machine changed results under one key: report that. Then {fresh}")


def _difference(kept: Scores, scores: Scores, columns: Sequence[str]) -> str:
    """The number of common questions that differ in some columns, and the first of them; empty if none does.

    ValueError for a missing column.
    """
    known = {name: row for row, name in enumerate(kept.query_ids)}
    here = [row for row, name in enumerate(scores.query_ids) if name in known]
    there = [known[scores.query_ids[row]] for row in here]
    was, now = (
        np.column_stack([side.failed[rows], *(side.column(column)[rows] for column in columns)])
        for side, rows in ((kept, there), (scores, here))
    )
    apart = ~np.isclose(was, now, rtol=0, atol=SLACK, equal_nan=True)
    rows = np.flatnonzero(apart.any(axis=1))
    if not len(rows):
        return ""
    row, place = rows[0], int(np.argmax(apart[rows[0]]))
    change = f"{('failed', *columns)[place]} {figure(was[row, place])} → {figure(now[row, place])}"
    return f"{len(rows)} of {len(here)} questions differ, the first is {kept.query_ids[there[row]]!r}: {change}"
