"""The conclusion of a sweep: the recommended trial, measured again on the holdout, and the effects of the choices."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from rag.core.arrays import Ints
from rag.core.errors import DataError, ProblemsError, StoreError
from rag.core.figures import figure
from rag.core.types import SPLITS
from rag.evaluation.statistics import effects
from rag.evaluation.statistics.effects import Effects
from rag.evaluation.statistics.paired import rough
from rag.evaluation.statistics.resampling import cluster_numbers
from rag.execution.graph import plan
from rag.execution.graph.executors import Ran, Watch, run_watched
from rag.execution.graph.plan import Plan, PlannedTrial
from rag.execution.store import holdout_log
from rag.execution.store.store import Store
from rag.execution.sweep import ablations, holes, other_sweeps, selection, sweep
from rag.execution.sweep.ablations import Controlled
from rag.execution.sweep.holes import Bounds, Pool
from rag.execution.sweep.objective import Objective
from rag.execution.sweep.reopen import REPORTS
from rag.execution.sweep.selection import Candidates, Decision, Holdout, Winner, keep_comparable
from rag.execution.sweep.sweep import Sweep
from rag.execution.sweep.trial_remarks import trial_remarks
from rag.execution.sweep.trial_scores import scores_of
from rag.execution.sweep.wins import Wins, find_wins
from rag.pipeline.search import unread_text

TUNE, HOLDOUT = SPLITS
UNFINISHED = "The sweep did not come to its end: nothing is concluded."


@dataclass(frozen=True)
class Again:
    """Trials measured on the holdout, by the ids that they have in the sweep, and the outcomes of their stages."""

    plan: Plan
    trials: Mapping[str, PlannedTrial]
    ran: Ran
    uses: int

    def errors(self) -> dict[str, str]:
        """Why trials could not be measured, by their names."""
        outcomes = self.ran.outcomes.items()
        failed = {key: outcome.error for key, outcome in outcomes if outcome.status in ("failed", "blocked")}
        return {trial.trial.name: failed[trial.ends.score] for trial in self.trials.values() if trial.ends.score in failed}


@dataclass(frozen=True)
class Conclusion:
    """The winner of a sweep, if there is one, and the effects of its choices; `notes` are remarks on both.

    `wins` says where each choice of an axis is best. `controls` has the answers of the recommended trial, if it generates any,
    and of its controls. `unread` is a sentence on trials whose models read chunks in part.
    """

    winner: Winner | None = None
    effects: Effects | None = None
    notes: tuple[str, ...] = ()
    again: Again | None = None
    controls: Controlled = field(default_factory=Controlled)
    unread: str = ""
    wins: Wins | None = None
    bounds: tuple[Bounds, ...] = ()

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended measuring on the holdout, or the controls."""
        return self.controls.interrupted or (self.again is not None and self.again.ran.interrupted)

    @property
    def failed(self) -> bool:
        """Whether a trial could not be measured on the holdout, or a control not at all."""
        return self.controls.failed or (self.again is not None and bool(self.again.errors()))

    @property
    def exhausted(self) -> bool:
        """Whether the budget was spent before all of it was measured."""
        return self.controls.exhausted or (self.again is not None and bool(self.again.ran.exhausted))

    @property
    def stopped(self) -> StoreError | None:
        """The store that could not be used."""
        return (self.again.ran.stopped if self.again else None) or self.controls.stopped

    def to_json(self) -> dict[str, Any]:
        """The conclusion as JSON values, keys as in `verdict.json`."""
        return {
            "winner": self.winner.to_json() if self.winner else None,
            "effects": self.effects.to_json() if self.effects else None,
            "holdout_questions": len(self.again.plan.trials[0].golden.examples) if self.again else 0,
            "unread": self.unread,
            "notes": list(self.notes),
            "controls": [result.to_json() for result in self.controls.results],
            "wins": self.wins.to_json() if self.wins else None,
            "bounds": [asdict(each) for each in self.bounds],
            "judges": [judge.to_json() for judge in self.controls.judges],
        }


def reach(done: Sweep, store: Store, settings: Mapping[str, Any], watch: Watch | None) -> Conclusion:
    """Choose among the trials of a sweep, and measure the best of them again on the holdout; without `watch` nothing runs.

    A sweep that was ended early concludes nothing. After Ctrl-C while measuring again, the conclusion has what was measured.
    """
    if watch:
        other_sweeps.log(done.plan, store)
    concluded = _concluded(done, store, settings, watch)
    unjudged = holes.qualified(concluded.winner, Pool(done.plan, store, done.board.objective))
    remarks = trial_remarks(done, store, concluded.winner.recommended if concluded.winner else "")
    return replace(concluded, **unjudged | {"notes": (*concluded.notes, *unjudged.get("notes", ()), *remarks)})


def _concluded(done: Sweep, store: Store, settings: Mapping[str, Any], watch: Watch | None) -> Conclusion:
    if done.interrupted or done.stopped or any(row.status == "not run" for row in done.board.rows):
        return Conclusion(notes=(UNFINISHED,))
    candidates = Candidates(done.board, done.plan, store)
    if len(candidates.goldens) != 1:
        return Conclusion(notes=("Trials were asked different questions: nothing is concluded.",))
    cluster, objective = cluster_numbers(candidates.goldens[0].examples), candidates.objective
    apart = (*candidates.rank_apart(), *keep_comparable(candidates))
    choice_effects = _effects(candidates, cluster)
    if not candidates.entrants:
        return Conclusion(effects=choice_effects, notes=(*apart, _no_winner(candidates)))
    rule, span = selection.rule.selection_rule(candidates.made, objective), objective.span
    decision = selection.decide(candidates.entrants, cluster, rule)
    again, notes = _measured_again(candidates, decision, store, settings, watch)
    holdout = _holdout(again, objective, store) if again else None
    race = selection.race(candidates.entrants, cluster, span[1] - span[0])
    elsewhere = [] if objective.measured else list(other_sweeps.values(candidates.made, store, objective))
    winner = selection.choose(race, decision, cluster, holdout, objective.sign, candidates.others, span, elsewhere)
    notes += _broken_again(again, objective, winner.recommended, store) if again else []
    taken, ended = candidates.trials[winner.recommended], not again or again.ran.complete
    controlled = ablations.measure_ablations(taken, candidates.made, store, settings, watch) if ended else Controlled()
    shares = {row.name: unread_text.share(row.measured) for row in done.board.rows}
    cut = unread_text.remark(shares, winner.of(winner.recommended).name)
    notes += filter(None, [rough(decision.sample[1]) if race.differences and len(race.entrants) > 1 else ""])
    return Conclusion(winner, choice_effects, (*apart, *notes), again, controlled, cut, find_wins(candidates))


def write(done: Sweep, concluded: Conclusion, folder: Path = REPORTS) -> Path:
    """Write verdict.json beside the leaderboard; StoreError where that cannot be. Measured times make it differ by machine."""
    path = sweep.folder_of(done, folder) / "verdict.json"
    kept = {key: value for key, value in done.board.to_json().items() if key != "trials"}
    sweep.write_report(path, kept | {"trials": len(done.board.rows)} | concluded.to_json())
    return path


def _effects(candidates: Candidates, cluster: Ints) -> Effects | None:
    axes = {axis: [choice.label for choice in choices] for axis, choices in candidates.made.experiment.axes.items()}
    if len(candidates.values) < 2 or not any(len(labels) > 1 for labels in axes.values()):
        return None
    trials = [(candidates.trials[trial_id].trial.choices, values) for trial_id, values in candidates.values.items()]
    return effects.choice_effects(trials, cluster, axes, candidates.objective.span)


def _no_winner(candidates: Candidates) -> str:
    """Why nothing is recommended. It is a result, not an error: the gate is what fails for it."""
    breaking = [standing for standing in candidates.others if standing.broken]
    if not breaking:
        return f"No trial has a value of {candidates.objective.column}: nothing is concluded."
    bounds = " and ".join(dict.fromkeys(bound for standing in breaking for bound in standing.broken))
    return f"No trial keeps {bounds}: none is recommended."


def _measured_again(
    candidates: Candidates, decision: Decision, store: Store, settings: Mapping[str, Any], watch: Watch | None
) -> tuple[Again | None, list[str]]:
    """The best trials and the recommended one on the holdout; or notes on why nothing was measured there."""
    golden, experiment = candidates.goldens[0], candidates.made.experiment
    splits = {str(trial.trial.config["split"]) for trial in candidates.trials.values()}
    if splits == {HOLDOUT} and watch:
        count = holdout_log.log_use(store, golden.asked_digest, list(candidates.trials), experiment.name)
        return None, [f"These questions are the holdout: uses of it so far: {count}."]
    if splits != {TUNE} or not experiment.holdout or candidates.objective.measured:
        return None, []
    best = (*candidates.entrants[: experiment.holdout], decision.taken)
    ids = dict.fromkeys(entrant.trial_id for entrant in best)
    chosen = [candidates.trials[trial_id].trial for trial_id in ids]
    trials = [replace(each, config={**each.config, "split": HOLDOUT, "latency": 0}) for each in chosen]
    try:
        made = plan.assemble(experiment, trials, store, candidates.made.ledger, candidates.made.corpora)
    except ProblemsError as error:
        if not all(isinstance(problem, DataError) and problem.where == "split" for problem in error.problems):
            raise
        return None, ["The golden set has no holdout: nothing was measured again."]
    again = _measure(made, dict(zip(ids, made.trials, strict=True)), store, settings, watch)
    return again, _unmeasured(again, bool(watch))


def _measure(
    made: Plan, trials: Mapping[str, PlannedTrial], store: Store, settings: Mapping[str, Any], watch: Watch | None
) -> Again:
    digest = made.trials[0].golden.asked_digest
    if watch is None:
        return Again(made, trials, Ran({}), holdout_log.count(store, digest))
    try:
        count = holdout_log.log_use(store, digest, [trial.trial_id for trial in made.trials], made.experiment.name)
    except StoreError as error:
        return Again(made, trials, Ran({}, stopped=error), 0)
    return Again(made, trials, run_watched(made, store, settings, watch), count)


def _unmeasured(again: Again, running: bool) -> list[str]:
    """Notes on trials that were not measured on the holdout."""
    notes = [f"On the holdout {name} failed." for name in again.errors()]
    if again.ran.exhausted:
        notes.append("The budget was spent while measuring on the holdout: the same command goes on where it was.")
    if again.ran.interrupted:
        notes.append("Stopped while measuring on the holdout: the same command goes on where it was.")
    if not running and again.plan.to_run:
        notes.append("The holdout was not measured to the end: run the sweep again.")
    return notes


def _holdout(again: Again, objective: Objective, store: Store) -> Holdout:
    scores = {trial_id: scores_of(trial, again.plan, store) for trial_id, trial in again.trials.items()}
    values = {trial_id: objective.per_question(table) for trial_id, table in scores.items() if table}
    return Holdout(values, cluster_numbers(again.plan.trials[0].golden.examples), again.uses)


def _broken_again(again: Again, objective: Objective, recommended: str, store: Store) -> list[str]:
    """Notes on bounds that the recommended trial keeps on tune, and not on the holdout."""
    trial = again.trials.get(recommended)
    scores = scores_of(trial, again.plan, store) if trial else None
    if trial is None or scores is None:
        return []
    notes = []
    for bound in (bound for bound in objective.bounds if bound.column in scores.columns):
        values = scores.column(bound.column)
        mean = float(np.mean(values[~np.isnan(values)])) if not np.isnan(values).all() else float("nan")
        if not bound.holds(mean):
            notes.append(f"On the holdout {trial.trial.name} does not keep {bound.text}: it has {figure(mean)} there.")
    return notes
