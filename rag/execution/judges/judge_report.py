"""The judges of trials: what they judged, what they could not, and how far each can be trusted."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rag.core.assessments import Assessment, first_failure
from rag.core.roles import AssessedMetric
from rag.evaluation.scoring import parse_column
from rag.evaluation.statistics.agreement import Estimate
from rag.execution.graph.plan import Plan, PlannedTrial
from rag.execution.judges import calibration
from rag.execution.judges.calibration import Card
from rag.execution.judges.human_labels import ANSWER
from rag.execution.store.serialisation import assessment_of, json_values
from rag.execution.store.store import Store

SHOWN = 3
"""Corrected means that are shown, the highest ones."""


@dataclass(frozen=True)
class Corrected:
    """The mean faithfulness of a trial's `answers`, as the `judge` says it and as `people` would, by the labels of a card."""

    trial: str
    answers: int
    judge: float
    people: Estimate
    card: Card

    @property
    def sentence(self) -> str:
        """The corrected mean with its interval, as a sentence for a report."""
        share = f"{self.people.value:.3f} [{self.people.low:.3f}, {self.people.high:.3f}]"
        labels = f"by {self.card.texts} labels of {self.card.data}"
        counts = f"{self.answers:,} answers of {self.trial}"
        return f"Of {counts}, people would call {share} supported, {labels}; the judge says {self.judge:.3f}"


@dataclass(frozen=True)
class Assessor:
    """A judge, by the name of its class and its `identity`, with the trials and columns that it judges in.

    `asked` counts the judgements that it was asked for, in all of these trials, `failed` those that it could not make.
    `cards` say how it agrees with people, one per set of labels; `why` is what was wrong with the first claim that failed.
    `corrected` are the means of faithfulness that carry the judge's error, the highest first.
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
    corrected: tuple[Corrected, ...] = ()

    @property
    def remarks(self) -> list[str]:
        """What a reader must know before trusting its figures."""
        found = [f"{self.name} {remark}" for card in self.cards for remark in card.remarks if remark.startswith("does not")]
        if not self.cards:
            found.append(f"{self.name} has no calibration card: its agreement with people is unknown")
        elif not any(ANSWER in card.kinds for card in self.cards):
            kinds = ", ".join(sorted({f"kind {kind}" for card in self.cards for kind in card.kinds})) or "unknown kind"
            found.append(f"{self.name} was measured on texts of {kinds}, not on answers: on these it may err more")
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
        means = [{**asdict(one), "card": one.card.data} for one in self.corrected]
        cards = [card.to_json() for card in self.cards]
        return {**own, **counts, "remarks": self.remarks, "corrected": json_values(means), "cards": cards}


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
    told_of = [(trial, store.read_meta(made.stages[trial.ends.assess or ""].entry)) for trial in trials]
    means = [one for trial, meta in told_of if meta for one in _corrected(trial, assessment_of(meta), cards)]
    means.sort(key=lambda one: -one.people.value)
    return Assessor(title, name, node, ids, tuple(columns), asked, failed, cards, first_failure(said), tuple(means))


def _corrected(trial: PlannedTrial, found: Sequence[Assessment], cards: Sequence[Card]) -> Iterator[Corrected]:
    """The mean faithfulness of the answers that claim something, once for every card of answers."""
    rows = zip(trial.golden.examples, found, strict=True)
    judged = [(example, one.verdict.faithfulness) for example, one in rows if one.verdict]
    known = [(example.cluster or example.query.query_id, value) for example, value in judged if value == value]
    for card in cards if known else ():
        if card.speaks_of_answers:
            clusters, values = zip(*known, strict=True)
            mean = math.fsum(values) / len(values)
            yield Corrected(trial.trial.name, len(values), mean, card.people(values, clusters), card)
