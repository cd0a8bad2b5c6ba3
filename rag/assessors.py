"""The judges of trials: what they judged, what they could not, and how far each can be trusted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rag import calibration
from rag.calibration import Card
from rag.claims import first_failure
from rag.evaluate import parse_column
from rag.kept import assessment_of
from rag.plan import Plan, PlannedTrial
from rag.roles import AssessedMetric
from rag.store import Store


@dataclass(frozen=True)
class Assessor:
    """A judge, by the name of its class and its `identity`, with the trials and columns that it judges in.

    `asked` counts the judgements that it was asked for, in all of these trials, `failed` those that it could not make.
    `cards` say how it agrees with people, one per set of labels; `why` is what was wrong with the first claim that failed.
    """

    name: str
    identity: str
    node: Mapping[str, Any]
    trials: tuple[str, ...]
    columns: tuple[str, ...]
    asked: int
    failed: int
    cards: tuple[Card, ...]
    why: str = ""

    @property
    def remarks(self) -> list[str]:
        """What a reader must know before trusting its figures."""
        found = [f"{self.name} {remark}" for card in self.cards for remark in card.remarks if remark.startswith("does not")]
        if not self.cards:
            found.append(f"{self.name} has no calibration card: nobody has measured it against people")
        return [*found, self.lost] if self.failed else found

    @property
    def lost(self) -> str:
        """How much it could not judge."""
        why = f"; the first: {self.why}" if self.why else ""
        return f"{self.name} could not make {self.failed:,} of {self.asked:,} judgements: they are in no figure{why}"

    def to_json(self) -> dict[str, Any]:
        """The judge as JSON values."""
        own = {"judge": self.name, "identity": self.identity, "config": self.node, "columns": list(self.columns)}
        counts = {"asked": self.asked, "failed": self.failed}
        return {**own, **counts, "remarks": self.remarks, "cards": [card.to_json() for card in self.cards]}


def assessors(made: Plan, store: Store, trials: Sequence[PlannedTrial] | None = None) -> list[Assessor]:
    """The judges of a plan's trials, or of some of them, as far as these ran, each once."""
    by_identity: dict[str, list[PlannedTrial]] = {}
    for trial in made.trials if trials is None else trials:
        if trial.ends.assess:
            by_identity.setdefault(identity(made, trial.trial.config), []).append(trial)
    return [_assessor(name, own, made, store) for name, own in by_identity.items()]


def asking(made: Plan, store: Store, trials: Sequence[PlannedTrial] | None = None) -> list[Assessor]:
    """The answer metrics of a plan's trials, or of some of them, that ask a model of their own, by their names."""
    found: dict[tuple[str, str], list[PlannedTrial]] = {}
    for trial in made.trials if trials is None else trials:
        for name in _counts(trial, made, store):
            node = trial.trial.config["metric"][name]
            found.setdefault((name, made.graph.components.identity(node, f"metric.{name}")), []).append(trial)
    return [_asking(name, own_identity, own, made, store) for (name, own_identity), own in found.items()]


def _counts(trial: PlannedTrial, made: Plan, store: Store) -> Mapping[str, Mapping[str, int]]:
    """What metrics were asked for that ask a model of their own, and what they could not make."""
    found: Mapping[str, Mapping[str, int]] = (store.read_meta(made.stages[trial.ends.score].entry) or {}).get("asked", {})
    return found


def _asking(name: str, identity: str, trials: Sequence[PlannedTrial], made: Plan, store: Store) -> Assessor:
    distinct = {trial.ends.score: trial for trial in trials}.values()
    told = [_counts(trial, made, store)[name] for trial in distinct]
    asked, failed = (sum(int(part[count]) for part in told) for count in ("asked", "failed"))
    ids = tuple(trial.trial_id for trial in trials)
    return Assessor(name, identity, trials[0].trial.config["metric"][name], ids, (name,), asked, failed, ())


def identity(made: Plan, config: Mapping[str, Any]) -> str:
    """The identity of a config's judge, under which its cards lie."""
    return made.graph.components.identity(config["judge"], "judge")


def assessed_columns(made: Plan, config: Mapping[str, Any]) -> list[str]:
    """The columns of a config that a judge fills."""
    build, metric = made.graph.components.role, config["metric"]
    names = {column: parse_column(column, config["k"], metric).metric for column in config["metrics"]}
    return [
        column for column, name in names.items() if isinstance(build("metric", metric[name], f"metric.{name}"), AssessedMetric)
    ]


def _assessor(name: str, trials: Sequence[PlannedTrial], made: Plan, store: Store) -> Assessor:
    node = trials[0].trial.config["judge"]
    stages = dict.fromkeys(trial.ends.assess for trial in trials if trial.ends.assess)
    told = [store.read_meta(made.stages[key].entry) or {} for key in stages]
    columns = dict.fromkeys(column for trial in trials for column in assessed_columns(made, trial.trial.config))
    asked, failed = (sum(int(part.get(count, 0)) for part in told) for count in ("asked", "failed"))
    title = str(node["_target_"]).rpartition(".")[2]
    ids = tuple(trial.trial_id for trial in trials)
    said = (one.verdict for part in told if part.get("failed") for one in assessment_of(part) if one.verdict)
    cards = tuple(calibration.cards(store, name))
    return Assessor(title, name, node, ids, tuple(columns), asked, failed, cards, first_failure(said))
