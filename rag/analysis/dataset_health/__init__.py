"""Problems of an experiment's questions: from the questions alone, and from the results of its finished trials."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from rag.analysis.dataset_health.questions import Finding, give_aways, near_duplicates
from rag.analysis.dataset_health.trials import FEWEST, Results, results_of
from rag.config.experiment import Experiment
from rag.config.identity import digest
from rag.config.validation import control_of
from rag.evaluation.data import golden as golden_sets
from rag.execution.graph.plan import Plan, PlannedTrial
from rag.execution.store.store import Store


@dataclass(frozen=True)
class Health:
    """One golden set of an experiment with all its splits: `near_duplicates` and `give_aways` come from the questions alone.

    The rest comes from the `finished` of `trials` trials, without controls: questions `unsolved` by any trial, `always_solved`
    by all, and `suspects`, whose gold may be wrong. `told` lists what could not be checked, and why.
    """

    dataset: str
    questions: int
    trials: int
    finished: int
    near_duplicates: tuple[Finding, ...]
    give_aways: tuple[Finding, ...]
    unsolved: tuple[Finding, ...]
    always_solved: tuple[Finding, ...]
    suspects: tuple[Finding, ...]
    told: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """The result as JSON values."""
        lists = ("near_duplicates", "give_aways", "unsolved", "always_solved", "suspects")
        findings = {name: [asdict(finding) for finding in getattr(self, name)] for name in lists}
        counts = {name: getattr(self, name) for name in ("dataset", "questions", "trials", "finished")}
        return counts | findings | {"told": list(self.told)}


def check_health(made: Plan, store: Store) -> tuple[Health, ...]:
    """Check every golden set of an experiment; trials that did not run, or whose stages are gone, are left out."""
    sets: dict[str, list[PlannedTrial]] = {}
    for trial in made.trials:
        sets.setdefault(digest(trial.trial.config["loader"], trial.trial.config["dataset"]), []).append(trial)
    return tuple(_health(made, trials, store) for trials in sets.values())


def _health(made: Plan, planned: list[PlannedTrial], store: Store) -> Health:
    config = planned[0].trial.config
    trials = [trial for trial in planned if control_of(trial.trial.config) == "none"]
    golden = golden_sets.load(*(made.graph.components.role(role, config[role]) for role in ("loader", "dataset")))
    results = results_of(made, trials, store)
    return Health(
        dataset=str(config["dataset"].get("path") or config["dataset"]["_target_"]),
        questions=len(golden.examples),
        trials=len(trials),
        finished=results.finished,
        near_duplicates=near_duplicates(golden),
        give_aways=give_aways(golden),
        unsolved=results.unsolved(),
        always_solved=results.always_solved(),
        suspects=results.suspects(),
        told=tuple(_left_out(made.experiment, len(trials), results)),
    )


def _left_out(experiment: Experiment, trials: int, results: Results) -> Iterator[str]:
    if not trials:
        yield "every trial is a control: findings from trials are left out"
    elif not results.finished:
        missing = f"no trial of {experiment.name} has run on this store: findings from trials are left out"
        yield f"{missing}; run rag sweep {experiment.called}"
    elif len(results.rankings) < FEWEST:
        yield "only one ranking is stored: findings about all trials need two or more"
    elif results.finished < trials:
        yield f"{results.finished} of {trials} trials have run and are still stored: the others are left out"
