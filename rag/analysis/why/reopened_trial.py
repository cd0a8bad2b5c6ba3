"""Find a golden question by id or words, and reopen the trials that are asked about it."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from rag.analysis.blame.corridor import Steps
from rag.config.experiment import Experiment
from rag.config.search_space import Trial
from rag.config.validation import control_of
from rag.core.errors import ConfigError, DataError
from rag.core.types import SPLITS, Example
from rag.documents.anchors.quote_anchors import closest_names
from rag.evaluation.data import golden as golden_sets
from rag.evaluation.data.golden import Golden
from rag.execution.graph import plan
from rag.execution.graph.executors import Listener, carry_out
from rag.execution.graph.plan import Plan, PlannedTrial
from rag.execution.store import holdout_log, maintenance
from rag.execution.store.store import Store
from rag.execution.sweep.open_config import config_of
from rag.execution.sweep.reopen import reopen, stored_trial

MOST = 2
"""The number of trials that can be shown side by side."""


@dataclass(frozen=True)
class ReopenedTrial:
    """A planned trial with its steps; stages that are not in the store are in `made.to_run`.

    `named` is its name on the command line, to be typed again.
    """

    named: str
    trial: PlannedTrial
    steps: Steps
    made: Plan
    store: Store

    def run(self, listen: Listener) -> None:
        """Run what is missing; on the holdout this is logged as a use. DataError with the reason if a stage fails."""
        if self.trial.trial.config["split"] == SPLITS[1]:
            holdout_log.log_use(self.store, self.trial.golden.asked_digest, [self.trial.trial_id], self.made.experiment.name)
        outcomes = carry_out(self.made, self.store, self.trial.trial.config["execute"], listen).checked()
        if broken := next((outcome.error for outcome in outcomes.values() if outcome.error), ""):
            raise DataError(f"trial {self.trial.trial_id}", f"cannot be run: {broken.strip()}", "fix that and ask again")


def prepare(overrides: Sequence[str]) -> list[ReopenedTrial]:
    """The trials of some overrides: `trial=<id>` once or twice, optionally with another `split=`, or else one config.

    ConfigError for anything else, and for a trial whose generator does not read its search results; DataError if the data of a
    trial changed since it ran.
    """
    named = [override for override in overrides if override.startswith("trial=")]
    if len(named) > MOST:
        raise ConfigError("trial", f"is given {len(named)} times", f"at most {MOST} can be shown side by side")
    splits = [override.partition("=")[2] for override in overrides if override.startswith("split=")]
    if named and len(named) + len(splits) == len(overrides):
        return [_recorded(override, splits[-1] if splits else "") for override in named]
    config = config_of(overrides)  # refuses a trial together with other overrides
    return [_planned(shlex.join(overrides), Trial(" ".join(overrides) or "the default config", {}, config))]


def _recorded(override: str, split: str) -> ReopenedTrial:
    stored = stored_trial(override.partition("=")[2])
    reopened = _planned(override, stored.trial, stored.trial_id)
    if not split:
        return reopened
    trial = reopened.trial.trial
    return _planned(f"{override} split={split}", Trial(trial.name, trial.choices, {**trial.config, "split": split}))


def _planned(named: str, trial: Trial, trial_id: str = "") -> ReopenedTrial:
    store = maintenance.at(trial.config["store"])
    # Nothing is timed here; ids of trials do not depend on it.
    untimed = Trial(trial.name, trial.choices, {**trial.config, "latency": 0})
    made = reopen({trial_id: untimed}, store, "why") if trial_id else plan.assemble(Experiment("why", "", ()), [untimed], store)
    steps = Steps.of(made.trials[0], made.stages)
    if steps is None:
        what = f"is {control_of(trial.config)!r}: its generator does not read the search results"
        raise ConfigError("control", what, "ask about the trial without it")
    return ReopenedTrial(named, made.trials[0], steps, made, store)


def find(question: str, asked: ReopenedTrial) -> Example:
    """The golden question with that id or these words; ConfigError with the closest ones."""
    examples = asked.trial.golden.examples
    by_id = (example for example in examples if example.query.query_id == question.strip())
    by_words = (example for example in examples if _folded(example.query.text) == _folded(question))
    if example := next(by_id, None) or next(by_words, None):
        return example
    raise ConfigError("question", *_unknown(question, asked))


def row_of(query_id: str, golden: Golden) -> int:
    """The row of a question; ConfigError if a second trial does not have it."""
    ids = [example.query.query_id for example in golden.examples]
    if query_id not in ids:
        what = f"{query_id!r} is a question of only one of the trials"
        raise ConfigError("question", what, "name two trials over the same questions")
    return ids.index(query_id)


def _unknown(question: str, asked: ReopenedTrial) -> tuple[str, str]:
    config = asked.trial.trial.config
    components = asked.made.graph.components
    loaded = golden_sets.load(components.role("loader", config["loader"]), components.role("dataset", config["dataset"]))
    other = next((each for each in loaded.examples if question.strip() in (each.query.query_id, each.query.text)), None)
    if other:
        what = (
            f"{other.query.query_id!r} is in the split {other.split!r}, the questions of the trial are in {config['split']!r}"
        )
        return what, f"name one of these, or add split={other.split}"
    texts = {_folded(example.query.text): example.query.query_id for example in asked.trial.golden.examples}
    near = [texts[text] for text in get_close_matches(_folded(question), texts, n=3, cutoff=0.5)]
    remedy = f"did you mean {' or '.join(map(repr, near))}?" if near else closest_names(question, list(texts.values()))
    return (f"{question!r} is not a golden question of this trial", f"{remedy} (rag ask takes any question)")


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())
