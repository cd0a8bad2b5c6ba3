"""What is odd about the questions of an experiment: found by reading them, and by what its finished trials made of them."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from rag.analysis import ann_audit
from rag.analysis.ann_audit import Audit
from rag.analysis.dataset_health.findings import Finding
from rag.analysis.dataset_health.questions import give_aways, near_duplicates
from rag.analysis.dataset_health.trials import FEWEST, Record, recorded
from rag.components.indexes.faiss_flat import FaissFlatIndex
from rag.config.identity import digest
from rag.config.validation import control_of
from rag.core.errors import DataError
from rag.evaluation.data import golden as golden_sets
from rag.execution.graph.plan import Plan, PlannedTrial
from rag.execution.store.store import Store
from rag.execution.sweep import leaderboard

__all__ = ["Finding", "Health", "check_health"]


@dataclass(frozen=True)
class Health:
    """One golden set of an experiment, all of its splits: `near_duplicates` and `give_aways` are read off the questions.

    The rest is what `finished` of `trials` trials made of those that they asked, controls left out: `unsolved` by any,
    `always_solved` by all, and `suspects`, questions whose gold may be wrong. `audits` holds the vector indexes that are not
    exact by themselves, each once, with the trial that was looked at. `told` says what could not be looked at, and why.
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
    audits: tuple[tuple[str, Audit], ...]
    told: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain dicts, lists, texts and numbers."""
        lists = ("near_duplicates", "give_aways", "unsolved", "always_solved", "suspects")
        plain = {name: [asdict(finding) for finding in getattr(self, name)] for name in lists}
        counts = {name: getattr(self, name) for name in ("dataset", "questions", "trials", "finished")}
        audits = [{"trial": name, **found.to_json()} for name, found in self.audits]
        return counts | plain | {"audits": audits, "told": list(self.told)}


def check_health(made: Plan, store: Store) -> tuple[Health, ...]:
    """Look through every golden set that an experiment asks; trials that did not run, or whose stages are gone, say nothing."""
    sets: dict[str, list[PlannedTrial]] = {}
    for trial in made.trials:
        sets.setdefault(digest(trial.trial.config["loader"], trial.trial.config["dataset"]), []).append(trial)
    return tuple(_health(made, trials, store) for trials in sets.values())


def _health(made: Plan, asking: list[PlannedTrial], store: Store) -> Health:
    config = asking[0].trial.config
    trials = [trial for trial in asking if control_of(trial.trial.config) == "none"]
    golden = golden_sets.load(made.graph.components.role("loader", config["loader"]), _questions(made, config))
    record = recorded(made, trials, store)
    audits, told = _audits(made, trials, store)
    return Health(
        dataset=_name(config["dataset"]),
        questions=len(golden.examples),
        trials=len(trials),
        finished=record.finished,
        near_duplicates=near_duplicates(golden),
        give_aways=give_aways(golden),
        unsolved=record.unsolved(),
        always_solved=record.always_solved(),
        suspects=record.suspects(),
        audits=audits,
        told=(*_left_out(made.experiment.name, len(trials), record), *told),
    )


def _questions(made: Plan, config: Mapping[str, Any]) -> Any:
    return made.graph.components.role("dataset", config["dataset"])


def _name(node: Mapping[str, Any]) -> str:
    """A dataset as people know it: where it lies, or its class."""
    return str(node.get("path") or node["_target_"])


def _left_out(experiment: str, trials: int, record: Record) -> Iterator[str]:
    if not trials:
        yield "every trial is a control: what trials show is left out"
    elif not record.finished:
        yield f"no trial of {experiment} has run on this store: what trials show is left out; run rag sweep {experiment} first"
    elif len(record.rankings) < FEWEST:
        yield "one ranking is known: it takes two or more to say what all trials have in common"
    elif record.finished < trials:
        yield f"{record.finished} of {trials} trials have run and are still stored: the others say nothing here"


def _audits(made: Plan, trials: list[PlannedTrial], store: Store) -> tuple[tuple[tuple[str, Audit], ...], tuple[str, ...]]:
    """The inexact vector indexes of finished trials, each search once; and which could not be looked at."""
    column = leaderboard.objective_of(made).column
    seen: set[tuple[str, ...]] = set()
    found: list[tuple[str, Audit]] = []
    told: list[str] = []
    for trial in trials:
        inexact = _inexact(trial, made)
        if not inexact or inexact in seen or not store.has(made.stages[trial.ends.score].entry):
            continue
        seen.add(inexact)
        try:
            audits = ann_audit.audit_indexes(trial, made, store, column)
        except DataError as error:
            told.append(f"{trial.trial.name} is not audited: {error.what}")
            continue
        found += [(trial.trial.name, each) for each in audits if each.kind != FaissFlatIndex.__name__]
    return tuple(found), tuple(told)


def _inexact(trial: PlannedTrial, made: Plan) -> tuple[str, ...]:
    """The vector indexes of a trial that are not exact by themselves, as keys."""
    exact = f"{FaissFlatIndex.__module__}.{FaissFlatIndex.__name__}"
    stages = ((key, made.stages[key]) for key in trial.ends.indexes.values())
    return tuple(key for key, stage in stages if "vectors" in stage.inputs and stage.nodes["index"]["_target_"] != exact)
