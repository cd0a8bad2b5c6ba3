"""What a sweep says to do: the winner, measured again on questions that chose nothing, and what the choices do."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from rag.config.experiment import Trial
from rag.core.errors import DataError, ProblemsError, StoreError
from rag.core.records import SPLITS
from rag.evaluation.statistics import effects
from rag.evaluation.statistics.effects import Effects
from rag.evaluation.statistics.paired import rough
from rag.evaluation.statistics.resampling import cluster_numbers
from rag.execution.graph import plan
from rag.execution.graph.plan import Plan, PlannedTrial
from rag.execution.store import holdout_log
from rag.execution.store.store import Store
from rag.execution.sweep import ablations, selection, sweep
from rag.execution.sweep.ablations import Controlled, Watch
from rag.execution.sweep.objective import Objective
from rag.execution.sweep.selection import Decision, Field, Holdout, Winner, scores_of
from rag.execution.sweep.selection.records import Ints
from rag.execution.sweep.sweep import REPORTS, Ran, Sweep
from rag.pipeline import unread_text

TUNE, HOLDOUT = SPLITS
UNFINISHED = "The sweep did not come to its end: nothing is concluded."


@dataclass(frozen=True)
class Again:
    """Trials measured on the holdout: by the ids that they have in the sweep, and what became of their stages."""

    plan: Plan
    trials: Mapping[str, PlannedTrial]
    ran: Ran
    looks: int

    @property
    def ended(self) -> bool:
        """Whether measuring was neither broken off nor stopped by its budget, or by a store that cannot be used."""
        return not self.ran.interrupted and not self.ran.stopped and not sweep.exhausted(self.ran.outcomes)

    def errors(self) -> dict[str, str]:
        """What kept trials from being measured, by their names."""
        failed = {key: found.error for key, found in self.ran.outcomes.items() if found.status in ("failed", "blocked")}
        return {trial.trial.name: failed[trial.ends.score] for trial in self.trials.values() if trial.ends.score in failed}


@dataclass(frozen=True)
class Conclusion:
    """The winner of a sweep, if there is one, and the effects of its choices; `notes` say what could not be concluded.

    `controls` has the answers of the recommended trial, where it generates any, and of its controls. `unread` says which trials
    read chunks in part.
    """

    winner: Winner | None = None
    effects: Effects | None = None
    notes: tuple[str, ...] = ()
    again: Again | None = None
    controls: Controlled = field(default_factory=Controlled)
    unread: str = ""

    @property
    def interrupted(self) -> bool:
        """Whether measuring on the holdout, or the controls, was broken off."""
        return self.controls.interrupted or (self.again is not None and self.again.ran.interrupted)

    @property
    def failed(self) -> bool:
        """Whether a trial could not be measured on the holdout, or a control not at all."""
        return self.controls.failed or (self.again is not None and bool(self.again.errors()))

    @property
    def exhausted(self) -> bool:
        """Whether the budget was spent before all was measured."""
        return self.controls.exhausted or (self.again is not None and bool(sweep.exhausted(self.again.ran.outcomes)))

    @property
    def stopped(self) -> StoreError | None:
        """The store that could not be used."""
        return (self.again.ran.stopped if self.again else None) or self.controls.stopped

    def to_json(self) -> dict[str, Any]:
        """What stands beside the leaderboard."""
        told: dict[str, Any] = {"winner": self.winner.to_json() if self.winner else None}
        told["effects"] = self.effects.to_json() if self.effects else None
        told["holdout_questions"] = len(self.again.plan.trials[0].golden.examples) if self.again else 0
        told |= {"unread": self.unread, "notes": list(self.notes)}
        told["controls"] = [result.to_json() for result in self.controls.results]
        return told | {"judges": [judge.to_json() for judge in self.controls.judges]}


def reach(done: Sweep, store: Store, settings: Mapping[str, Any], watch: Watch | None) -> Conclusion:
    """Choose among the trials of a sweep, and measure the best of them again on the holdout; without `watch` nothing runs.

    A sweep that did not come to its end concludes nothing. Ctrl-C while measuring again leaves what is there.
    """
    if done.interrupted or done.stopped or any(row.status == "not run" for row in done.board.rows):
        return Conclusion(notes=(UNFINISHED,))
    found = Field(done.board, done.plan, store)
    if len(found.goldens) != 1:
        return Conclusion(notes=("Trials were asked different questions: nothing is concluded.",))
    golden = found.goldens[0]
    cluster = cluster_numbers(golden.examples)
    told = _effects(found, cluster)
    if not found.entrants:
        return Conclusion(effects=told, notes=(_nobody(found),))
    low, high = span = found.objective.span
    decision = selection.decide(found.entrants, cluster, selection.rule.selection_rule(found.made, found.objective))
    again, notes = _measured_again(found, decision, store, settings, watch)
    holdout = _holdout(again, found.objective, store) if again else None
    run = selection.race(found.entrants, cluster, high - low)
    chosen = selection.choose(run, decision, cluster, holdout, found.objective.sign, found.others, span)
    notes += _broken_again(again, found.objective, chosen.recommended, store) if again else []
    taken, ended = found.trials[chosen.recommended], not again or again.ended
    controlled = ablations.measured(taken, found.made, store, settings, watch) if ended else Controlled()
    cut = unread_text.remark(
        {row.name: unread_text.share(row.measured) for row in done.board.rows}, chosen.of(chosen.recommended).name
    )
    asked_all = any(trial.trial.config["split"] == "all" for trial in found.trials.values())
    notes += ["" if asked_all else golden.dealing, _rough(found, cluster)]
    return Conclusion(chosen, told, tuple(filter(None, notes)), again, controlled, cut)


def write(done: Sweep, concluded: Conclusion, folder: Path = REPORTS) -> Path:
    """Write verdict.json beside the leaderboard; StoreError if that cannot be. Clocks went in: it differs between machines."""
    path = sweep.folder_of(done, folder) / "verdict.json"
    board = done.board.to_json()
    kept = {key: board[key] for key in ("experiment", "question", "objective")}
    sweep.write_report(path, kept | {"trials": len(board["trials"])} | concluded.to_json())
    return path


def _effects(found: Field, cluster: Ints) -> Effects | None:
    axes = {axis: [choice.label for choice in choices] for axis, choices in found.made.experiment.axes.items()}
    if len(found.values) < 2 or not any(len(labels) > 1 for labels in axes.values()):
        return None
    trials = [(found.trials[trial_id].trial.choices, values) for trial_id, values in found.values.items()]
    return effects.choice_effects(trials, cluster, axes, found.objective.span)


def _rough(found: Field, cluster: Ints) -> str:
    """What to think of the intervals of trials that are compared question by question; empty for nothing."""
    values = found.entrants[0].values
    if values is None or len(found.entrants) == 1:
        return ""
    return rough(len(np.unique(cluster[~np.isnan(values)])))


def _nobody(found: Field) -> str:
    """Why nothing is recommended. That is a finding and no error: whoever wants one asks the gate."""
    breaking = [standing for standing in found.others if standing.broken]
    if not breaking:
        return f"No trial has a value of {found.objective.column}: nothing is concluded."
    bounds = " and ".join(dict.fromkeys(bound for standing in breaking for bound in standing.broken))
    return f"No trial keeps {bounds}: none is recommended, and the holdout was left alone."


def _measured_again(
    found: Field, decision: Decision, store: Store, settings: Mapping[str, Any], watch: Watch | None
) -> tuple[Again | None, list[str]]:
    """The best trials and the recommended one on the holdout; notes say why not, where that cannot be."""
    golden, experiment = found.goldens[0], found.made.experiment
    splits = {str(trial.trial.config["split"]) for trial in found.trials.values()}
    if splits == {HOLDOUT} and watch:
        count = holdout_log.look(store, golden.golden_digest, list(found.trials), experiment.name)
        return None, [f"These questions are the holdout: looks at it so far: {count}."]
    if splits != {TUNE}:
        same = f"Tuned and reported on the same questions (split={', '.join(sorted(splits))}): expect less of new ones."
        return None, [same] if len(found.entrants) > 1 else []
    if not experiment.holdout:
        return None, ["Nothing was measured on a holdout (holdout: 0): expect less of new questions."]
    if found.objective.measured:
        return None, ["Nothing was measured on a holdout: what is chosen by is no score of questions."]
    best = (*found.entrants[: experiment.holdout], decision.taken)
    ids = dict.fromkeys(one.trial_id for one in best)
    trials = [_elsewhere(found.trials[trial_id].trial) for trial_id in ids]
    try:
        made = plan.assemble(experiment, trials, store, found.made.ledger)
    except ProblemsError as error:
        if not all(isinstance(problem, DataError) and problem.where == "split" for problem in error.problems):
            raise
        return None, ["The golden set has no holdout: tuned and reported on the same questions, so expect less of new ones."]
    again = _carried_out(made, dict(zip(ids, made.trials, strict=True)), store, settings, watch)
    return again, _unmeasured(again, bool(watch))


def _elsewhere(trial: Trial) -> Trial:
    return replace(trial, config={**trial.config, "split": HOLDOUT, "latency": 0})


def _carried_out(
    made: Plan, trials: Mapping[str, PlannedTrial], store: Store, settings: Mapping[str, Any], watch: Watch | None
) -> Again:
    digest = made.trials[0].golden.golden_digest
    if watch is None:
        return Again(made, trials, Ran({}), holdout_log.count(store, digest))
    count = 0
    try:
        count = holdout_log.look(store, digest, [trial.trial_id for trial in made.trials], made.experiment.name)
        with watch(made) as listen:
            ran = sweep.carry_out(made, store, settings, listen)
    except KeyboardInterrupt:
        ran = Ran({}, interrupted=True)
    except StoreError as error:
        ran = Ran({}, stopped=error)
    return Again(made, trials, ran, count)


def _unmeasured(again: Again, running: bool) -> list[str]:
    """What is missing of the holdout."""
    notes = [f"On the holdout {name} failed." for name in again.errors()]
    if sweep.exhausted(again.ran.outcomes):
        notes.append("The budget was spent while measuring on the holdout: the same command goes on where it was.")
    if again.ran.interrupted:
        notes.append("Stopped while measuring on the holdout: the same command goes on where it was.")
    if not running and again.plan.to_run:
        notes.append("The holdout was not measured to the end: run the sweep again.")
    return notes


def _holdout(again: Again, objective: Objective, store: Store) -> Holdout:
    scores = {trial_id: scores_of(trial, again.plan, store) for trial_id, trial in again.trials.items()}
    values = {trial_id: objective.per_question(found) for trial_id, found in scores.items() if found}
    return Holdout(values, cluster_numbers(again.plan.trials[0].golden.examples), again.looks)


def _broken_again(again: Again, objective: Objective, recommended: str, store: Store) -> list[str]:
    """Bounds on metrics that the recommended trial keeps on tune, and not on the holdout."""
    trial = again.trials.get(recommended)
    scores = scores_of(trial, again.plan, store) if trial else None
    if trial is None or scores is None:
        return []
    notes = []
    for bound in (bound for bound in objective.bounds if bound.column in scores.columns):
        values = scores.column(bound.column)
        mean = float(np.mean(values[~np.isnan(values)])) if not np.isnan(values).all() else float("nan")
        if not bound.holds(mean):
            notes.append(f"On the holdout {trial.trial.name} does not keep {bound.text}: it has {mean:.3f} there.")
    return notes
