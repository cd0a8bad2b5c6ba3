"""The judges of trials: counts of their judgements and failures, and their calibration cards."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rag.core.assessments import Assessment, first_failure
from rag.core.figures import figure, with_interval
from rag.core.numbers import jsonable, mean
from rag.core.roles import AssessedMetric
from rag.evaluation.statistics.agreement import Estimate
from rag.execution.graph.open_pipeline import TrialParts
from rag.execution.graph.plan import Plan, PlannedTrial
from rag.execution.judges import calibration
from rag.execution.judges.calibration import Card
from rag.execution.judges.human_labels import ANSWER, FAITHFULNESS
from rag.execution.store.serialisation import assessment_of
from rag.execution.store.store import Store

SHOWN = 3
"""Corrected means that are shown, the highest ones."""


@dataclass(frozen=True)
class Corrected:
    """The mean faithfulness of a trial's `answers` by the judge, and by people as estimated from the labels of a card."""

    trial: str
    answers: int
    judge: float
    people: Estimate
    card: Card

    @property
    def sentence(self) -> str:
        """The corrected mean with its interval, as a sentence for a report."""
        labels = f"by {self.card.texts} labels of {self.card.data}"
        counts = f"{self.answers:,} answers of {self.trial}"
        share, judge = with_interval(self.people), figure(self.judge)
        return f"Of {counts}, people would call {share} supported, {labels}; the judge says {judge}"


@dataclass(frozen=True)
class Assessor:
    """A judge, by the name of its class and its `identity`, with the trials and columns that it judges.

    `asked` counts the judgements in all of these trials, `failed` those that it could not make; `why` is the message of the
    first that failed. `cards` have its agreement with people, one per set of labels and task; `tasks` are those of its columns.
    `corrected` are means of faithfulness that allow for the judge's error, the highest first.
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
    tasks: tuple[str, ...] = (FAITHFULNESS,)

    @property
    def remarks(self) -> list[str]:
        """What a reader must know before trusting its figures."""
        remarks = [f"{self.name} {remark}" for card in self.cards for remark in card.remarks if remark.startswith("does not")]
        if missing := [task for task in self.tasks if not any(card.task == task for card in self.cards)]:
            what = f"{self.name} has no calibration card for {' and '.join(missing)}"
            remarks.append(f"{what}: its agreement with people is unknown")
        faithful = [card for card in self.cards if card.task == FAITHFULNESS]
        if faithful and not any(ANSWER in card.kinds for card in faithful):
            kinds = ", ".join(sorted({f"kind {kind}" for card in faithful for kind in card.kinds})) or "unknown kind"
            remarks.append(f"{self.name} was measured on texts of {kinds}, not on answers: on these it may err more")
        return [*remarks, self.lost] if self.failed else remarks

    @property
    def lost(self) -> str:
        """A sentence on the judgements that failed."""
        why = f"; the first: {self.why}" if self.why else ""
        return f"{self.name} could not make {self.failed:,} of {self.asked:,} judgements: they are in no figure{why}"

    def to_json(self) -> dict[str, Any]:
        """The judge as JSON values."""
        own = {"judge": self.name, "identity": self.identity, "config": self.node, "columns": list(self.columns)}
        counts = {"asked": self.asked, "failed": self.failed, "remarks": self.remarks}
        means = jsonable([{**asdict(each), "card": each.card.data} for each in self.corrected])
        return {**own, **counts, "corrected": means, "cards": [card.to_json() for card in self.cards]}


def assessors(made: Plan, store: Store, trials: Sequence[PlannedTrial] | None = None) -> list[Assessor]:
    """The judges of a plan's trials, or of some of them, as far as these ran, each once."""
    by_identity: dict[str, list[PlannedTrial]] = {}
    for trial in made.trials if trials is None else trials:
        if trial.ends.assess:
            by_identity.setdefault(identity(made, trial.trial.config), []).append(trial)
    return [_assessor(name, own, made, store) for name, own in by_identity.items()]


def asking(made: Plan, store: Store, trials: Sequence[PlannedTrial] | None = None) -> list[Assessor]:
    """The answer metrics of a plan's trials, or of some of them, that ask a model of their own, by their names."""
    by_metric: dict[tuple[str, str], dict[str, tuple[PlannedTrial, Mapping[str, int]]]] = {}
    for trial in made.trials if trials is None else trials:
        meta = store.read_meta(made.stages[trial.ends.score].entry) or {}
        for name, counts in meta.get("asked", {}).items():
            own_identity = made.graph.components.identity(trial.trial.config["metric"][name], f"metric.{name}")
            by_metric.setdefault((name, own_identity), {})[trial.trial_id] = trial, counts
    return [_asking(name, own_identity, list(own.values())) for (name, own_identity), own in by_metric.items()]


def _asking(name: str, own_identity: str, rows: Sequence[tuple[PlannedTrial, Mapping[str, int]]]) -> Assessor:
    distinct = {trial.ends.score: counts for trial, counts in rows}.values()
    asked, failed = (sum(int(counts[count]) for counts in distinct) for count in ("asked", "failed"))
    trials = [trial for trial, _ in rows]
    node, ids = trials[0].trial.config["metric"][name], tuple(trial.trial_id for trial in trials)
    return Assessor(name, own_identity, node, ids, (name,), asked, failed, ())


def identity(made: Plan, config: Mapping[str, Any]) -> str:
    """The identity of a config's judge, to which its cards belong."""
    return made.graph.components.identity(config["judge"], "judge")


def assessed_columns(made: Plan, config: Mapping[str, Any]) -> dict[str, str]:
    """The columns of a config that a judge fills, each with the judge's task."""
    parts = TrialParts(config, made.graph.components)
    metrics = {column.name: parts.metrics[column.metric] for column in parts.columns}
    return {name: calibration.task_of(metric) for name, metric in metrics.items() if isinstance(metric, AssessedMetric)}


def _assessor(name: str, trials: Sequence[PlannedTrial], made: Plan, store: Store) -> Assessor:
    node, cards = trials[0].trial.config["judge"], tuple(calibration.cards(store, name))
    metas = {key: store.read_meta(made.stages[key].entry) or {} for trial in trials if (key := trial.ends.assess)}
    assessments = {key: assessment_of(meta) if meta else [] for key, meta in metas.items()}
    columns = {name: task for trial in trials for name, task in assessed_columns(made, trial.trial.config).items()}
    asked, failed = (sum(int(meta.get(count, 0)) for meta in metas.values()) for count in ("asked", "failed"))
    means = [each for trial in trials for each in _corrected(trial, assessments[trial.ends.assess or ""], cards)]
    means.sort(key=lambda each: -each.people.value)
    judged = [each for part in assessments.values() for each in part]
    why = first_failure(each.verdict for each in judged if each.verdict)
    why = why or next((each.reference.failure for each in judged if each.reference and each.reference.failure), "")
    title, ids = str(node["_target_"]).rpartition(".")[2], tuple(trial.trial_id for trial in trials)
    tasks = tuple(dict.fromkeys(columns.values()))
    return Assessor(title, name, node, ids, tuple(columns), asked, failed, cards, why, tuple(means), tasks)


def _corrected(trial: PlannedTrial, assessments: Sequence[Assessment], cards: Sequence[Card]) -> Iterator[Corrected]:
    """The mean faithfulness of the answers that claim something, once for every card of answers."""
    rows = zip(trial.golden.examples, assessments, strict=False)  # none where the trial did not run
    judged = [(example, each.verdict.faithfulness) for example, each in rows if each.verdict]
    known = [(example.cluster or example.query.query_id, value) for example, value in judged if value == value]
    for card in cards if known else ():
        if card.speaks_of_answers:
            clusters, values = zip(*known, strict=True)
            yield Corrected(trial.trial.name, len(values), mean(values), card.people(values, clusters), card)
