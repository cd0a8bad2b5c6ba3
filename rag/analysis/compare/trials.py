"""Stored trials and baselines as results to compare. Nothing runs."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rag.analysis import baseline
from rag.analysis.compare import Table, compare
from rag.analysis.compare.comparability import check_bridges, common_columns
from rag.config.compose import compose, no_data
from rag.config.experiment import Trial
from rag.config.resolver import Resolver
from rag.core.errors import ConfigError, DataError
from rag.evaluation.data import golden, sampling
from rag.evaluation.data.golden import Golden
from rag.evaluation.data.slices import slices_along
from rag.execution.graph import plan
from rag.execution.store import maintenance
from rag.execution.store.budget import Ledger, Terms
from rag.execution.sweep import trial_scores
from rag.execution.sweep.objective import USUAL
from rag.execution.sweep.reopen import REPORTS, check_scores, reopen, stored_trial
from rag.execution.sweep.trial_scores import Result, question_digest


@dataclass(frozen=True)
class Side:
    """One side of a comparison: a result, and the golden set of its scores; None for a baseline."""

    result: Result
    golden: Golden | None = None


@dataclass(frozen=True)
class Compared:
    """The compared results, the base first, and the table of their differences."""

    results: tuple[Result, ...]
    table: Table

    def to_json(self) -> dict[str, Any]:
        """What `rag study compare --json` prints."""
        named = [{"trial": result.trial_id, "name": result.name} for result in self.results]
        return {"base": named[0], "candidates": named[1:]} | self.table.to_json()


def compared(
    names: Sequence[str],
    columns: Sequence[str] = (),
    dimensions: Sequence[str] | None = None,
    bridges: Sequence[str] = (),
    folder: Path = REPORTS,
) -> Compared:
    """Compare the first of several trial ids or paths of baselines with each of the others.

    Without `columns` all common columns are compared, and USUAL, or else the first, by slice; `dimensions` are those of
    `rag.evaluation.data.slices.slices_along`, by default kind. Raises ConfigError for unknown names, columns, dimensions and
    bridges, and for results that are not comparable; DataError for trials whose data changed or whose scores are missing.
    """
    if len(names) < 2:
        what = f"{names[0]} is all there is to compare" if names else "no trial is named"
        raise ConfigError("compare", what, "name two trials")
    check_bridges(bridges)
    read = sides(names, folder)
    measured = [side.result for side in read]
    common = common_columns(measured)
    if not common:
        raise DataError("columns", "the trials have none in common", "measure the same metrics in each of them")
    leading = USUAL if USUAL in common else common[0]
    compared_columns = tuple(dict.fromkeys(columns or (leading, *common)))
    sliced = compared_columns if columns else (leading,)
    questions = questions_of(read)
    parts = slices_along(questions, ("kind",) if dimensions is None else dimensions)
    for dimension in dimensions or ():
        if not any(part.dimension == dimension for part in parts):
            raise ConfigError(f"--by {dimension}", "no question of this golden set has one", "leave it out")
    return Compared(tuple(measured), compare(measured[0], measured[1:], questions, compared_columns, parts, bridges, sliced))


def sides(names: Sequence[str], folder: Path = REPORTS) -> list[Side]:
    """Read the sides of a comparison: prefixes of trial ids that sweeps stored below `folder`, or paths of baselines."""
    paths = {name: Path(name) for name in names if name.endswith(".json") or Path(name).is_file()}
    stored = {name: stored_trial(name, folder) for name in names if name not in paths}
    ids = {name: trial.trial_id for name, trial in stored.items()}
    places = [paths[name].resolve() if name in paths else ids[name] for name in names]
    for number, place in enumerate(places):
        if place in places[:number]:
            raise ConfigError("compare", f"{names[number]} names the same as {names[places.index(place)]}", "name it once")
    trials = _measured({trial.trial_id: trial.trial for trial in stored.values()}, folder)
    return [Side(baseline.load(paths[name]).result) if name in paths else trials[ids[name]] for name in names]


def _measured(trials: Mapping[str, Trial], folder: Path) -> dict[str, Side]:
    """The results of trials by id; trials of one store are planned together, so that their data are read once."""
    stores: dict[str, list[str]] = {}
    for trial_id, trial in trials.items():
        stores.setdefault(str(trial.config["store"]), []).append(trial_id)
    return {
        trial_id: side
        for root, ids in stores.items()
        for trial_id, side in _of_store(root, {trial_id: trials[trial_id] for trial_id in ids}, folder)
    }


def _of_store(root: str, trials: Mapping[str, Trial], folder: Path) -> Iterator[tuple[str, Side]]:
    store = maintenance.at(root)
    # They ran under budgets of their own; here nothing runs.
    made = reopen(trials, store, "compare", Ledger(store, Terms()))
    check_scores(made, store, folder)
    for trial_id, planned in zip(trials, made.trials, strict=True):
        yield trial_id, Side(trial_scores.read_scores(planned, made, store), planned.golden)


def questions_of(compared_sides: Sequence[Side]) -> Golden:
    """The golden questions of the base that a loaded golden set contains, with the documents of these sets."""
    base, *_ = compared_sides
    if base.golden is not None:
        return base.golden
    at_hand = [side.golden for side in compared_sides if side.golden is not None] or [_golden(base.result)]
    documents = {document.doc_id: document for each in reversed(at_hand) for document in each.documents}
    known = {
        example.query.query_id: example
        for each in at_hand
        for example in each.examples
        if base.result.questions.get(example.query.query_id) == question_digest(example)
    }
    return replace(at_hand[0], documents=tuple(documents.values()), examples=tuple(known.values()))


def _golden(result: Result) -> Golden:
    config = compose(())
    data = Resolver()("data", config) if "data" in config else None
    if data is None and "${data}" in json.dumps(result.config):
        raise no_data(result.name)
    config = json.loads(json.dumps(result.config).replace("${data}", str(data)))
    components = plan.components_for(maintenance.at(".rag/store"))
    loader, questions = (components.role(role, config[role]) for role in ("loader", "dataset"))
    return sampling.asked(golden.load(loader, questions), config)
