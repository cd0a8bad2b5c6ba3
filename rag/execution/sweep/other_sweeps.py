"""A record of the trials that were scored on a set of questions: all that were looked at count for what a choice is worth."""

from collections.abc import Iterator
from contextlib import suppress

from rag.config.identity import digest
from rag.core.arrays import Floats
from rag.core.errors import StoreError
from rag.evaluation.scoring import Scores, parse_column
from rag.execution.graph.plan import Plan, PlannedTrial
from rag.execution.store.store import Entry, Store
from rag.execution.sweep.objective import Objective
from rag.execution.sweep.trial_scores import fingerprints


def log(made: Plan, store: Store) -> None:
    """Log the scores of a sweep, with what they were measured by. A store that cannot be written to keeps its record."""
    spaces: dict[str, dict[str, PlannedTrial]] = {}
    for trial in made.trials:
        if trial.trial.config.get("control", "none") == "none":
            spaces.setdefault(_space(trial), {})[made.stages[trial.ends.score].entry] = trial
    for space, trials in spaces.items():
        if new := [entry for entry in sorted(trials.keys() - _logged(space, store).keys()) if store.has(entry)]:
            with suppress(StoreError):
                scores = {entry: fingerprints(trials[entry]) for entry in new}
                store.write(f"{space}/{digest(new)}", Entry(meta={"scores": scores}))


def values(made: Plan, store: Store, objective: Objective) -> Iterator[Floats]:
    """The objective per question of every trial of other sweeps that was scored by the same metrics; equal ones once."""
    columns, own = {term.column for term in objective.terms}, {made.stages[trial.ends.score].entry for trial in made.trials}
    trial = next((trial for trial in made.trials if columns <= set(trial.trial.config["metrics"])), None)
    if trial is None:
        return
    measures, config, found = fingerprints(trial), trial.trial.config, set[bytes]()
    needed = {f"metric {parse_column(column, config['k'], config['metric']).metric}" for column in columns} | {"coverage"}
    for score, others in _logged(_space(trial), store).items():
        alike = all(others.get(name) == measures[name] for name in needed)
        entry = store.read(score) if alike and score not in own else None  # it may have been removed since
        if entry and columns <= set((table := Scores.from_arrays(entry.arrays)).columns):
            one = objective.per_question(table)
            if one.tobytes() not in found:
                yield one
            found.add(one.tobytes())


def _space(trial: PlannedTrial) -> str:
    return f"scored/{trial.golden.asked_digest}"


def _logged(space: str, store: Store) -> dict[str, dict[str, str]]:
    metas = [store.read_meta(key) or {} for key in store.keys(space)]
    return {score: measures for meta in metas for score, measures in meta.get("scores", {}).items()}
