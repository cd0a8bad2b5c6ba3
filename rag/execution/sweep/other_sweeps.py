"""A record of the trials that were scored on a set of questions: all that were looked at count for what a choice is worth.

An entry names the score stages of a sweep, and digests of the metrics that they were measured by.
"""

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
    """Log the scores of a sweep; controls are no trials. A store that cannot be written to keeps its record as it is."""
    groups: dict[str, tuple[PlannedTrial, list[str]]] = {}
    for trial in made.trials:
        entry = made.stages[trial.ends.score].entry
        if trial.trial.config.get("control", "none") == "none" and store.has(entry):
            groups.setdefault(digest(_space(trial), _measures(trial)), (trial, []))[1].append(entry)
    for trial, scores in groups.values():
        known = {score for key in store.keys(_space(trial)) for score in (store.read_meta(key) or {}).get("scores", [])}
        if new := sorted(set(scores) - known):
            with suppress(StoreError):
                store.write(f"{_space(trial)}/{digest(new)}", Entry(meta={"measures": _measures(trial), "scores": new}))


def values(made: Plan, store: Store, objective: Objective) -> list[Floats]:
    """The objective per question of every other trial that was scored by the same metrics; equal ones once."""
    trial, own = made.trials[0], {made.stages[trial.ends.score].entry for trial in made.trials}
    measures, config, columns = _measures(trial), trial.trial.config, {term.column for term in objective.terms}
    needed = {f"metric {parse_column(column, config['k'], config['metric']).metric}" for column in columns} | {"coverage"}
    found: dict[bytes, Floats] = {}
    for meta in filter(None, map(store.read_meta, store.keys(_space(trial)))):
        if any(meta["measures"].get(name) != measures.get(name) for name in needed):
            continue
        # Scores may have been removed since.
        entries = filter(None, (store.read(score) for score in meta["scores"] if score not in own))
        tables = (Scores.from_arrays(entry.arrays) for entry in entries)
        each = (objective.per_question(table) for table in tables if columns <= set(table.columns))
        found |= {one.tobytes(): one for one in each}
    return list(found.values())


def _space(trial: PlannedTrial) -> str:
    return f"scored/{trial.golden.asked_digest}"


def _measures(trial: PlannedTrial) -> dict[str, str]:
    """Digests of the metrics of a trial, and the coverage."""
    return {name: value for name, value in fingerprints(trial).items() if name not in ("golden", "corpus")}
