"""Whether today's code gives the scores that a gate reads: a sample of questions is computed without any stored stage.

A key that misses a piece of code makes a store, and a baseline of the same key, repeat scores that the code no longer gives.
"""

import hashlib
import re
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import rag
from rag.analysis.baseline import DIGITS, Baseline
from rag.analysis.gate import measure
from rag.analysis.gate.measure import Gated, Prepared
from rag.config.build import TARGET, Components
from rag.config.identity import digest
from rag.config.validation import control_of
from rag.core.errors import DataError, ReplayError, ServiceError, UserError
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

SIZE = 32
"""Questions that are computed."""
SLACK = 2 * 10**-DIGITS
"""How far the sums of two machines may be apart when they are rounded to DIGITS."""

KEY = re.compile("[0-9a-f]{64}")

Rows = NDArray[np.int64]


def check_store(kept: Baseline, store: Store, path: Path) -> None:
    """Raise DataError for a baseline with other scores than the stage that it names, where the store has that stage."""
    remedy = f"take it from git, or make it: rag baseline {kept.experiment}"
    if not KEY.fullmatch(kept.score):  # It becomes a part of a path.
        raise DataError(str(path), f"names {kept.score[:80]!r} as the key of its scores, which is no sha256", remedy)
    entry = store.read(f"stages/{kept.score}")
    if entry is None:
        return
    try:
        found = Scores.from_arrays(entry.arrays)
        odd = _difference(kept.result.scores, found, kept.result.scores.columns)
        if set(found.query_ids) != set(kept.result.scores.query_ids):
            odd = f"it has {len(found.query_ids)} questions, the file {len(kept.result.questions)}, and they are not the same"
    except (KeyError, ValueError):
        odd = "that stage has no such columns"
    if odd:
        what = f"contradicts the scores that the store keeps under its key: {odd}"
        raise DataError(str(path), what, remedy)


def computed(gated: Gated) -> tuple[str, str]:
    """Compute a sample of the candidate's questions: how many agree with what the gate reads, and the error that stopped it.

    The sample follows from the candidate's key and from our code, so other code has another one. Vectors, pair scores and
    replies of models are taken from the store; no generator that costs is asked. Nothing is computed of a candidate whose
    stages all ran in this process. DataError where scores differ.
    """
    ready = gated.candidate
    if not gated.same and set(ready.plan.graph.ancestors(ready.trial.ends.score)) <= set(ready.plan.to_run):
        return "", ""
    if why := _unasked(ready):
        return f"No question was computed: {why}.", ""
    rows = chosen(ready)
    golden = replace(ready.trial.golden, examples=tuple(ready.trial.golden.examples[row] for row in rows))
    try:
        found, left_out = _found(_repeatable(ready.trial.trial.config, ready.plan.graph.components), golden, ready.store)
    except (ServiceError, ReplayError) as error:
        return f"No question was computed: {error.where} {error.what}.", ""
    except UserError as error:
        return "", str(error)
    except Exception:  # The candidate's own mistake, as in a sweep.
        return "", traceback.format_exc()
    _check(gated, found)
    counted = f"{len(rows)} of {len(ready.trial.golden.examples)} questions"
    return f"Computed as a check: {counted}{left_out}, with the same scores.", ""


def chosen(ready: Prepared) -> Rows:
    """The rows of the sample, ascending. A control may read other questions for one, so it has all of them."""
    count = len(ready.trial.golden.examples)
    if control_of(ready.trial.trial.config) != "none":
        return np.arange(count)
    files = sorted(Path(rag.__file__).parent.rglob("*.py"))
    code = hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()
    seed = int(digest(ready.trial.ends.score, code), 16)
    return np.sort(np.random.default_rng(seed).choice(count, min(SIZE, count), replace=False))


def _unasked(ready: Prepared) -> str:
    """Why nothing can be computed: a server would have to embed the corpus."""
    stages = ready.plan.graph.stages
    for key in ready.plan.graph.ancestors(ready.trial.ends.score):
        node = stages[key].nodes.get("embedder")
        address = getattr(node and ready.plan.graph.components.build(node, "embedder"), "address", "")
        if address and not ready.store.has(stages[key].entry):
            return f"the vectors of {address} are not in the store"
    return ""


def _repeatable(config: Mapping[str, Any], components: Components) -> dict[str, Any]:
    """The config with the columns that no model behind a server fills: what it says twice may differ."""

    def repeats(column: str) -> bool:
        name = parse_column(column, config["k"]).metric
        metric = components.build(config["metric"][name], f"metric.{name}")
        if isinstance(metric, AssessedMetric):
            return not getattr(components.build(config["judge"], "judge"), "costly", False)
        return not isinstance(metric, AskingMetric)

    return {**config, "metrics": [column for column in config["metrics"] if repeats(column)]}


def _found(config: Mapping[str, Any], golden: Golden, store: Store) -> tuple[Scores, str]:
    """The scores, and what was left out of them: answers whose replies are not in the store."""
    try:
        return _scores(config, golden, store), ""
    except ReplayError:
        columns = [column for column in config["metrics"] if "@" in column]
        if not columns or control_of(config) != "none":
            raise
        silent = {**config, "generator": {TARGET: "rag.components.generators.none.NoGenerator"}, "metrics": columns}
        return _scores(silent, golden, store), " without the answers, whose replies are not in the store"


def _scores(config: Mapping[str, Any], golden: Golden, store: Store) -> Scores:
    """Run every stage of a trial in its order; no result of a stage is read from the store or written to it."""
    graph = Graph(components_for(store, Ledger(store, Terms(replay="only"))))
    end = add_trial(graph, config, golden).score
    goldens = {known: golden for known in (golden.corpus_digest, golden.queries_digest, golden.golden_digest)}
    entries: dict[str, Entry] = {}
    for key in graph.ancestors(end):
        stage = graph.stages[key]
        inputs = {name: entries[source] for name, source in stage.inputs.items() if source in entries}
        job = Job(stage.nodes, stage.values, inputs, golden_of(graph, stage, goldens), graph.components, store)
        entries[key] = RUNNERS[stage.name](job)
    return Scores.from_arrays(entries[end].arrays)


def _check(gated: Gated, found: Scores) -> None:
    kept = measure.result(gated).scores
    odd = _difference(kept, found, [column for column in found.columns if column in kept.columns])
    if not odd:
        return
    trial = gated.candidate.trial
    where = str(gated.path) if gated.same else f"trial {trial.trial_id} ({trial.trial.name})"
    what = f"has scores that today's code does not give, though its key is the same: {odd}"
    fresh = f"make it again: rag baseline {gated.kept.experiment}" if gated.same else "use another store: store=<folder>"
    raise DataError(where, what, f"code, a model or this machine changed results under one key: report that. Then {fresh}")


def _difference(kept: Scores, found: Scores, columns: Sequence[str]) -> str:
    """How many questions that both have differ in some columns, and the first of them; empty where none does.

    ValueError for a column that is not there.
    """
    known = {name: row for row, name in enumerate(kept.query_ids)}
    here = [row for row, name in enumerate(found.query_ids) if name in known]
    there = [known[found.query_ids[row]] for row in here]
    was, now = (
        np.column_stack([scores.failed[rows], *(scores.column(column)[rows] for column in columns)])
        for scores, rows in ((kept, there), (found, here))
    )
    apart = ~np.isclose(was, now, rtol=0, atol=SLACK, equal_nan=True)
    rows = np.flatnonzero(apart.any(axis=1))
    if not len(rows):
        return ""
    row, place = rows[0], int(np.argmax(apart[rows[0]]))
    said = f"{('failed', *columns)[place]} {was[row, place]:.3f} → {now[row, place]:.3f}"
    return f"{len(rows)} of {len(here)} questions differ, the first is {kept.query_ids[there[row]]!r}: {said}"
