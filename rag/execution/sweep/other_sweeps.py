"""A record of the trials that were scored on a set of questions: all that were looked at count for what a choice is worth."""

from contextlib import suppress

from rag.config.identity import digest
from rag.core.errors import StoreError
from rag.evaluation.scoring import Scores, parse_column
from rag.execution.graph.plan import Plan, PlannedTrial
from rag.execution.store.store import Entry, Store
from rag.execution.sweep.objective import Objective
from rag.execution.sweep.selection.winner import Floats
from rag.execution.sweep.trial_scores import fingerprints


def log(made: Plan, store: Store) -> None:
    """Log the scores of a sweep, with what they were measured by. A store that cannot be written to keeps its record."""
    spaces: dict[str, dict[str, dict[str, str]]] = {}
    for trial in made.trials:
        entry = made.stages[trial.ends.score].entry
        if trial.trial.config.get("control", "none") == "none" and store.has(entry):
            spaces.setdefault(_space(trial), {})[entry] = fingerprints(trial)
    for space, scores in spaces.items():
        if new := {entry: scores[entry] for entry in sorted(scores.keys() - _logged(space, store).keys())}:
            with suppress(StoreError):
                store.write(f"{space}/{digest(list(new))}", Entry(meta={"scores": new}))


def values(made: Plan, store: Store, objective: Objective, own: bool = False) -> list[Floats]:
    """The objective per question of every trial of other sweeps that was scored by the same metrics; equal ones once.

    With `own` also of trials of this plan.
    """
    trial, left = made.trials[0], {made.stages[trial.ends.score].entry for trial in made.trials if not own}
    measures, config, columns = fingerprints(trial), trial.trial.config, {term.column for term in objective.terms}
    needed = {f"metric {parse_column(column, config['k'], config['metric']).metric}" for column in columns} | {"coverage"}
    found = {}
    for score, others in _logged(_space(trial), store).items():
        entry = (
            store.read(score) if score not in left and all(others.get(name) == measures.get(name) for name in needed) else None
        )
        # Scores may have been removed since.
        if entry and columns <= set((table := Scores.from_arrays(entry.arrays)).columns):
            one = objective.per_question(table)
            found[one.tobytes()] = one
    return list(found.values())


def _space(trial: PlannedTrial) -> str:
    return f"scored/{trial.golden.asked_digest}"


def _logged(space: str, store: Store) -> dict[str, dict[str, str]]:
    metas = [store.read_meta(key) or {} for key in store.keys(space)]
    return {score: measures for meta in metas for score, measures in meta.get("scores", {}).items()}
