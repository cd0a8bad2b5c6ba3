"""Plan and run the candidate of a gate on the questions of its baseline."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rag.analysis import baseline
from rag.analysis.baseline import Baseline
from rag.analysis.gate import candidate, spec
from rag.analysis.gate.spec import HOLDOUT, Gate
from rag.config import experiment as experiment_file
from rag.config.experiment import Experiment, Trial
from rag.config.stand_ins import STAND_INS
from rag.core.errors import BudgetError, ConfigError, DataError
from rag.core.redaction import redacted_text
from rag.execution.graph import plan
from rag.execution.graph.executors import Listener, carry_out
from rag.execution.store import holdout_log
from rag.execution.sweep import selection, sweep, trial_scores
from rag.execution.sweep.reopen import stored_trial
from rag.execution.sweep.sweep import Prepared as Prepared
from rag.execution.sweep.trial_scores import Result


@dataclass(frozen=True)
class Gated:
    """A gate with its baseline and the planned candidate."""

    gate: Gate
    kept: Baseline
    path: Path
    candidate: Prepared
    changes: tuple[str, ...]

    @property
    def same(self) -> bool:
        """True if both have the same score stage, so that no score can differ."""
        return self.kept.score == self.candidate.trial.ends.score


def _planned(experiment: Experiment, trial: Trial) -> Prepared:
    store, settings = sweep.store_of(experiment)
    return Prepared(plan.assemble(experiment, [trial], store), store, settings)


def prepare(experiment: Experiment, changes: Sequence[str], path: Path) -> Gated:
    """Read the gate and the baseline of an experiment and plan the candidate; UserError for any problem."""
    kept = baseline.load(path)
    # Data are named anew with every gate: other questions are another gate.
    if own := [override for override in kept.overrides if not candidate.of_data([override])]:
        experiment = replace(experiment_file.load(experiment.typed[0], own), gate=experiment.gate)
    has_holdout = kept.split != spec.ALL
    split = spec.split_of(experiment.gate, has_holdout)
    _check_split(split, kept, path, experiment.name)
    placed = [change for change in changes if candidate.key_of(change).partition(".")[0] in plan.ELSEWHERE]
    name = " ".join(written(change) for change in changes if change not in placed) or kept.result.name
    trial = candidate.trial(experiment, kept.result.choices, changes, split, name)
    _check_stand_ins(kept, trial, path, experiment.name)
    gate = spec.parse(experiment.gate, experiment.objective, trial.config["metrics"], has_holdout)
    known = (*kept.result.scores.columns, spec.FAILED, spec.RATIO)
    for column in (*gate.columns, *(bound.column for bound in gate.bounds)):
        if column not in known:
            remedy = f"make it again: rag study baseline {experiment.name}"
            raise DataError(str(path), f"has no scores of {column!r}", remedy)
    ready = _planned(replace(experiment, fixed=(*candidate.under(placed, experiment.fixed), *placed)), trial)
    _check_split(spec.split_of(experiment.gate, HOLDOUT in ready.trial.golden.sizes), kept, path, experiment.name)
    return Gated(gate, kept, path, ready, tuple(changes))


def _check_split(split: str, kept: Baseline, path: Path, name: str) -> None:
    if kept.split != split:
        what = f"was measured on {kept.split!r}, and the gate asks {split!r}"
        raise DataError(str(path), what, f"make it again: rag study baseline {name}")


def _check_stand_ins(kept: Baseline, trial: Trial, path: Path, name: str) -> None:
    """Raise DataError where other parts of a preset are missing today than when the baseline was made."""
    sides = [set(config.get(STAND_INS, ())) for config in (kept.result.config, trial.config)]
    if sides[0] != sides[1]:
        now, then = (" ".join(f"{each}." for each in sorted(side)) or "nothing stands in for a part." for side in sides[::-1])
        what = f"was made with other parts than there are today, and measures another pipeline. Then: {then} Today: {now}"
        raise DataError(str(path), what, f"gate where the same parts are, or make it again: rag study baseline {name}")


def written(change: str) -> str:
    """A change without secrets, for comments."""
    key, equals, value = change.partition("=")
    return f"{key}{equals}{redacted_text(key, value)}"


def run(ready: Prepared, listen: Listener) -> str:
    """Run the missing stages of a trial; return the error of a failed trial, else "". BudgetError if a budget is spent.

    Gating many changes on a holdout amounts to tuning on it, so each run is logged as a use of it.
    """
    golden = ready.trial.golden
    if golden.sizes.get(HOLDOUT):
        holdout_log.log_use(ready.store, golden.split(HOLDOUT).asked_digest, [ready.trial.trial_id], ready.plan.experiment.name)
    outcomes = carry_out(ready.plan, ready.store, ready.settings, listen).checked()
    ended = outcomes.get(ready.trial.ends.score)
    if ended and ended.status == "stopped":
        reason = ended.error.partition("\n")[0]
        remedy = "raise the budget, or run again: stored results are not paid for twice"
        raise BudgetError("the candidate did not run", reason, remedy)
    return ended.error if ended else ""


def result(gated: Gated) -> Result:
    """The result of the candidate, with the scores of the baseline if no score can differ."""
    ready = gated.candidate
    return today(gated) if gated.same else trial_scores.read_scores(ready.trial, ready.plan, ready.store)


def today(gated: Gated) -> Result:
    """The candidate before it runs: its questions and fingerprints, with the scores of the baseline."""
    found = trial_scores.result_of(gated.candidate.trial, gated.kept.result.scores)
    return replace(found, trial_id=gated.kept.result.trial_id) if gated.same else found


def recommended(experiment: str) -> str:
    """The trial that the last sweep of an experiment recommends; DataError if there is none."""
    return str(selection.read(experiment)["recommended"])


def to_keep(experiment: Experiment, trial_id: str) -> Prepared:
    """Plan a trial that is to become the baseline, on the questions of the gate and under its id."""
    trial = (stored := stored_trial(trial_id)).trial
    if trial.choices.keys() != experiment.axes.keys():
        axes, varied = (", ".join(names) or "nothing" for names in (trial.choices, experiment.axes))
        what = f"chose along {axes}, and this experiment varies {varied}"
        raise ConfigError(f"trial {trial_id}", what, f"name a trial of its sweep: rag sweep {experiment.called}")
    spec.parse(experiment.gate, experiment.objective, trial.config["metrics"])

    own = stored.overrides if stored.experiment == experiment.name else ()
    swept = experiment_file.load(experiment.typed[0], own) if own else experiment

    def on_split(split: str) -> Prepared:
        ready = _planned(swept, Trial(trial.name, trial.choices, {**trial.config, "split": split, "latency": 0}))
        return replace(ready, plan=replace(ready.plan, trials=(replace(ready.trial, trial_id=stored.trial_id),)))

    ready = on_split(spec.split_of(experiment.gate, has_holdout=False))
    named = "split" in experiment.gate or HOLDOUT not in ready.trial.golden.sizes
    return ready if named else on_split(HOLDOUT)
