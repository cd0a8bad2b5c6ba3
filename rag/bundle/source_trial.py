"""A trial that was swept, as its stages left it in the store: what a bundle is made of, and what it must answer again."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag.config.build import Components
from rag.config.experiment import locate
from rag.config.validation import control_of
from rag.core.corpus import Corpus
from rag.core.errors import ConfigError, DataError
from rag.evaluation.data.golden import Golden
from rag.execution.graph.engine import Runner
from rag.execution.graph.plan import Plan, PlannedTrial
from rag.execution.graph.stage_graph import Stage
from rag.execution.graph.stage_inputs import Job, corpus_of
from rag.execution.store import maintenance
from rag.execution.store.budget import Ledger, Terms
from rag.execution.store.store import Entry
from rag.execution.sweep import selection
from rag.execution.sweep.reopen import REPORTS, check_scores, leaderboard_rows, reopen, stored_trial


@dataclass(frozen=True)
class Measured:
    """A trial that ran, with the plan that knows its stages; `experiment` is the sweep that wrote it down."""

    experiment: str
    trial: PlannedTrial
    made: Plan
    runner: Runner

    @property
    def config(self) -> Mapping[str, Any]:
        """The resolved config."""
        return self.trial.trial.config

    @property
    def golden(self) -> Golden:
        """The documents, and the questions that it was asked."""
        return self.trial.golden

    @property
    def components(self) -> Components:
        """The builder of its parts."""
        return self.made.graph.components

    def entry(self, key: str) -> Entry:
        """What a stage left. One that was cleared from the store while its scores stayed runs again, as the stage it was."""
        return self.runner.obtain(key)

    @property
    def corpus(self) -> Corpus:
        """Its chunks."""
        return corpus_of(self.entry(self.trial.ends.corpus), self.golden)

    @property
    def indexes(self) -> dict[str, Entry]:
        """Its indexes by name, without what a clock said of them."""
        return {name: Entry(self.entry(key).arrays) for name, key in self.trial.ends.indexes.items()}

    def before(self, name: str) -> Stage | None:
        """The stage of that name that its ranking or its answers rest on."""
        ends = filter(None, (self.trial.ends.ranking, self.trial.ends.generate))
        stages = (self.made.stages[key] for key in self.made.graph.ancestors(*ends))
        return next((stage for stage in stages if stage.name == name), None)

    def job(self, key: str) -> Job:
        """A stage as it was about to run."""
        stage = self.made.stages[key]
        inputs = {name: self.entry(source) for name, source in stage.inputs.items() if source in self.made.stages}
        return Job(stage.nodes, stage.values, inputs, self.golden, self.components, self.runner.store)


def resolve_trial(what: str, folder: Path = REPORTS) -> tuple[str, str]:
    """The experiment and the whole id of a trial that `trial=<id>` or the name of an experiment stands for.

    Of an experiment that is the trial which its last sweep recommends or, where it recommends none, the best of its
    leaderboard. ConfigError or DataError where there is none.
    """
    if what.startswith("trial="):
        stored = stored_trial(what.removeprefix("trial="), folder)
        return stored.experiment, stored.trial_id
    if "=" in what:
        raise ConfigError(what, "is neither an experiment nor a trial", "write the name of a sweep, or trial=<id>")
    experiment = Path(what).stem
    try:
        return experiment, str(selection.read(experiment, folder)["recommended"])
    except DataError:
        rows = leaderboard_rows(folder / experiment / "leaderboard.json")
        if best := next((row["trial"] for row in rows if row["status"] == "done"), ""):
            return experiment, best
        locate(what)  # a name that no experiment has is not one that was not swept yet
        raise


def measured(trial_id: str, experiment: str = "", folder: Path = REPORTS) -> Measured:
    """A trial as it was swept; DataError where its data or its code changed since, or it has no scores. No model is asked."""
    stored = stored_trial(trial_id, folder)
    _check(stored.trial.config)
    store = maintenance.at(stored.trial.config["store"])
    made = reopen({stored.trial_id: stored.trial}, store, experiment, Ledger(store, Terms(replay="only")))
    check_scores(made, store, folder)
    return Measured(experiment, made.trials[0], made, Runner(made.graph, made.goldens, store))


def _check(config: Mapping[str, Any]) -> None:
    """Refuse, before anything is read, what answers golden questions alone."""
    if (control := control_of(config)) != "none":
        raise ConfigError("control", f"is {control!r}: a control needs the gold of a question", "export the trial itself")
    if config["queries"]["_target_"].endswith(".HumanRewrite"):
        what = "searches for what a person wrote beside each golden question, and a typed one has no such thing"
        raise ConfigError("queries", what, "export a trial with queries=none or queries=rewrite")
