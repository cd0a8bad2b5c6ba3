"""A measured trial with its stored stages: the source of a bundle and of the results that it must repeat."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag.config.experiment import locate
from rag.config.validation import control_of
from rag.core.corpus import Corpus
from rag.core.errors import ConfigError, DataError
from rag.evaluation.data.golden import Golden
from rag.execution.graph.engine import Runner
from rag.execution.graph.plan import Plan, PlannedTrial
from rag.execution.graph.stage_graph import Stage
from rag.execution.graph.stage_inputs import corpus_of, records_of
from rag.execution.store import maintenance
from rag.execution.store.budget import Ledger, Terms
from rag.execution.store.store import Entry
from rag.execution.sweep import selection
from rag.execution.sweep.open_config import Materials
from rag.execution.sweep.reopen import REPORTS, check_scores, leaderboard_rows, reopen, stored_trial


@dataclass(frozen=True)
class Measured:
    """A trial that ran, and the plan of its stages; `experiment` is the sweep that ran it."""

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
        """The documents and questions."""
        return self.trial.golden

    def entry(self, key: str) -> Entry:
        """The result of a stage; the stage runs again if its result was cleared from the store."""
        return self.runner.obtain(key)

    @property
    def corpus(self) -> Corpus:
        """The chunks."""
        return corpus_of(self.entry(self.trial.ends.corpus), self.golden)

    def materials(self) -> Materials:
        """What a pipeline is opened with; the indexes are without their build times."""
        ends, stage = self.trial.ends, self.before("roster") or self.before("enrich")
        indexes = {name: Entry(self.entry(key).arrays) for name, key in ends.indexes.items()}
        passages = {name: self.entry(key) for name, key in ends.passages.items()}
        records = records_of({"records": self.entry(stage.key)} if stage else {})
        return Materials(self.golden, self.corpus, indexes, self.made.graph.components, records, passages)

    def before(self, name: str) -> Stage | None:
        """The stage of that name that the ranking or the answers depend on, None if there is none."""
        ends = filter(None, (self.trial.ends.ranking, self.trial.ends.generate))
        stages = (self.made.stages[key] for key in self.made.graph.ancestors(*ends))
        return next((stage for stage in stages if stage.name == name), None)


def resolve_trial(what: str, folder: Path = REPORTS) -> tuple[str, str]:
    """The experiment and the full id of a trial, from `trial=<id>` or the name of an experiment.

    The trial of an experiment is the recommended one of its last sweep, or else the best of its leaderboard. ConfigError or
    DataError if there is none.
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
    """A stored trial; UserError if it changed since, has no scores, or answers golden questions only. No model is asked."""
    stored = stored_trial(trial_id, folder)
    # A trial that answers golden questions only is refused before anything is read.
    if (control := control_of(stored.trial.config)) != "none":
        raise ConfigError("control", f"is {control!r}: a control needs the gold of a question", "export the trial itself")
    if stored.trial.config["queries"]["_target_"].endswith(".HumanRewrite"):
        what = "searches for texts that people wrote for golden questions, and a typed question has none"
        raise ConfigError("queries", what, "export a trial with queries=none or queries=rewrite")
    store = maintenance.at(stored.trial.config["store"])
    made = reopen({stored.trial_id: stored.trial}, store, experiment, Ledger(store, Terms(replay="only")))
    check_scores(made, store, folder)
    return Measured(experiment, made.trials[0], made, Runner(made.graph, made.goldens, store))
