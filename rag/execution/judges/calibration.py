"""The calibration card of a judge: its agreement with people, compared with baselines of word overlap and length.

A judge that was fitted on several sets of labels is measured on each with the weights that the other sets give.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from rag.config.identity import code_identity, digest
from rag.core.adapters import records_from
from rag.core.arrays import Flags, Floats
from rag.core.assessments import REFERENCE, Case, first_failure
from rag.core.errors import DataError
from rag.core.numbers import jsonable
from rag.core.roles import AssessedMetric, Judge
from rag.evaluation.correctness import claims
from rag.evaluation.statistics.agreement import DECISIONS, Auc, Decisions, Difference, Estimate, Resampled, calibration_error
from rag.evaluation.statistics.paired import ALPHA
from rag.evaluation.statistics.prediction_powered import powered_mean
from rag.evaluation.statistics.resampling import DRAWS
from rag.execution.judges.human_labels import ANSWER, CORRECTNESS, FAITHFULNESS, Fitted, Labelled
from rag.execution.store.entry_format import Entry
from rag.execution.store.store import Store

WORD = re.compile(r"\w+")
RIGHT = 0.5
"""The least correctness of an answer that counts as right."""
SENSITIVE, SPECIFIC = 0.6, 0.5
"""The least sensitivity and specificity of a judge on which a verdict rests."""
SPACE = "cards"
"""The space of cards in a store."""


@dataclass(frozen=True)
class Card:
    """The agreement of a judge with the labels of one set, at its own `threshold`, with 95 % intervals by cluster.

    `judge` is the identity of the judge, `kinds` are the kinds of text that were measured. `abstained` and `failed` count texts
    without a score, which no other figure includes. `held_out` says that the judge was fitted on these labels too, and measured
    with the weights of the other sets. `over_overlap` and `over_length` are paired differences in AUC, `error` is the expected
    calibration error. `pairs` has the faithfulness of each text by the judge, the label of people, and the number of its
    cluster. `why` is the message of the first text that failed. For the task CORRECTNESS `supported` are right answers, and
    the baseline of overlap are the words of the reference in the answer.
    """

    judge: str
    data: str
    digest: str
    texts: int
    clusters: int
    supported: int
    abstained: int
    failed: int
    threshold: float
    auc: Estimate
    kappa: Estimate
    sensitivity: Estimate
    specificity: Estimate
    accuracy: Estimate
    overlap_auc: Estimate
    length_auc: Estimate
    over_overlap: Difference
    over_length: Difference
    why: str = ""
    held_out: bool = False
    kinds: tuple[str, ...] = ()
    error: float = math.nan
    task: str = FAITHFULNESS
    pairs: tuple[tuple[float, bool, int], ...] = ()

    @property
    def remarks(self) -> list[str]:
        """Warnings about the judge; empty for one that beats both baselines, decides, and judged every text."""
        beaten = (("word overlap", self.over_overlap), ("length", self.over_length))
        equal = [name for name, over in beaten if not (over.value > 0 and over.p <= ALPHA)]
        remarks = [f"does not beat {name} alone on {self.title}" for name in equal]
        if not self.decides:
            figures = f"sensitivity {self.sensitivity.value:.2f}, specificity {self.specificity.value:.2f}"
            remarks.append(f"does not tell supported texts of {self.title} from others ({figures}): no verdict rests on it")
        if self.failed:
            why = f"; the first: {self.why}" if self.why else ""
            remarks.append(f"{self.failed} of {self.texts} texts could not be judged and are in no figure{why}")
        return remarks

    @property
    def decides(self) -> bool:
        """Whether the judge tells supported texts from others at its threshold: by SENSITIVE and SPECIFIC."""
        return self.sensitivity.value >= SENSITIVE and self.specificity.value >= SPECIFIC

    def to_json(self) -> dict[str, Any]:
        """The card as JSON values, None for NaN."""
        return {**jsonable(asdict(self)), "remarks": self.remarks}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "Card":
        """The card that `to_json` gave; fields that its version did not have keep their defaults."""
        return records_from(cls, _with_nan(content))

    @property
    def speaks_of_answers(self) -> bool:
        """Whether answers were measured, and judge and people can be compared text by text."""
        return self.task == FAITHFULNESS and ANSWER in self.kinds and bool(self.pairs)

    @property
    def title(self) -> str:
        """The name of the set of labels, with the task unless it is faithfulness."""
        return key_of(self.data, self.task)

    @property
    def key(self) -> str:
        """What the card is about: the judge at its task."""
        return key_of(self.judge, self.task)

    def people(self, said: Sequence[float], clusters: Sequence[str]) -> Estimate:
        """The share of answers that people would call supported, estimated from the judge's faithfulness of each."""
        known, people, own = zip(*self.pairs, strict=True)
        labels = np.array(known, np.float64), np.array(people, np.float64)
        return powered_mean(np.array(said, np.float64), *labels, clusters, [str(number) for number in own])


def key_of(identity: str, task: str = FAITHFULNESS) -> str:
    """The judge with that identity at a task."""
    return identity if task == FAITHFULNESS else f"{identity} {task}"


def task_of(metric: AssessedMetric) -> str:
    """The task of the judge behind a metric."""
    return CORRECTNESS if REFERENCE in metric.needs else FAITHFULNESS


def card_of(judge: Judge, labelled: Labelled, identity: str, store: Store) -> Card:
    """The card of a judge on a set, from the store, or else measured now and not yet stored."""
    stored = store.read_meta(_place(key_of(identity, labelled.task), labelled.digest, labelled.name))
    return Card.from_json(stored) if stored else calibrate(judge, labelled, identity)


def keep(card: Card, store: Store) -> None:
    """Store a card; StoreError where it cannot be written."""
    store.write(_place(card.key, card.digest, card.data), Entry(meta=card.to_json()))


def cards(store: Store, identity: str) -> list[Card]:
    """The cards of the judge with that identity, by the name of the set; of several of one set the card of today's code."""
    stored = ((key, store.read_meta(key)) for key in store.keys(SPACE))
    own = [(key, Card.from_json(content)) for key, content in stored if content and content["judge"] == identity]
    own.sort(key=lambda each: each[0] == _place(each[1].key, each[1].digest, each[1].data))
    latest = {(card.data, card.digest, card.task): card for _, card in own}
    return [latest[name] for name in sorted(latest)]


def _place(identity: str, labels: str, name: str) -> str:
    return f"{SPACE}/{digest(identity, labels, name, code_identity(__name__))}"


def calibrate(judge: Judge, labelled: Labelled, identity: str = "", draws: int = DRAWS) -> Card:
    """Measure a judge; DataError where the texts with a score have labels of one kind only."""
    unbiased, right = _unbiased(judge, labelled), labelled.task == CORRECTNESS
    verdicts = claims.verdicts(unbiased, labelled.cases) if right else unbiased.judge(labelled.cases)
    scores = np.array([math.nan if one.failures else one.support for one in verdicts])
    why, failed, known = first_failure(verdicts), sum(one.failures > 0 for one in verdicts), np.flatnonzero(~np.isnan(scores))
    labels = np.array(labelled.labels, np.bool_)[known]
    if labels.all() or not labels.any():
        what = f"only {len(labels)} of {len(scores)} texts have a score{f'; the first that has none: {why}' if why else ''}"
        raise DataError(labelled.name, what, "a judge that can read them")
    clusters = [labelled.clusters[row] for row in known]
    numbers = np.unique(np.array(clusters, np.str_), return_inverse=True)[1].tolist()
    said, cases = [verdicts[row].faithfulness for row in known], [labelled.cases[row] for row in known]
    threshold = RIGHT if right else judge.threshold
    return Card(
        judge=identity,
        data=labelled.name,
        digest=labelled.digest,
        texts=len(labelled.cases),
        clusters=len(set(labelled.clusters)),
        supported=sum(labelled.labels),
        abstained=len(scores) - len(known) - failed,
        failed=failed,
        threshold=threshold,
        why=why,
        held_out=isinstance(judge, Fitted) and labelled.digest in judge.fitted_on,
        kinds=labelled.kinds,
        task=labelled.task,
        error=calibration_error(scores[known], labels),
        pairs=tuple(zip(said, labels.tolist(), numbers, strict=True)),
        **_agreement(scores[known], labels, Resampled(clusters, draws), threshold, _baselines(cases, labelled.task)),
    )


def _agreement(
    scores: Floats, labels: Flags, drawn: Resampled, threshold: float, plain: Mapping[str, Floats]
) -> dict[str, Any]:
    """The fields of a card that have an interval."""
    aucs = {name: Auc(row, labels) for name, row in {"auc": scores, **plain}.items()}
    values = {name: drawn.values(auc) for name, auc in aucs.items()}
    said = scores >= threshold
    return {
        "over_overlap": drawn.difference(values["auc"], values["overlap_auc"]),
        "over_length": drawn.difference(values["auc"], values["length_auc"]),
        **{name: drawn.measured(auc) for name, auc in aucs.items()},
        **{name: drawn.measured(Decisions(said, labels, name)) for name in DECISIONS},
    }


def _unbiased(judge: Judge, labelled: Labelled) -> Judge:
    """The judge with weights from other labels than these; DataError where it has no others."""
    if not isinstance(judge, Fitted) or labelled.digest not in judge.fitted_on:
        return judge
    if not judge.fitted_on[labelled.digest]:
        remedy = f"fit it on a second set too: rag study judge fit data=wice,{labelled.name}"
        raise DataError(labelled.name, "is all that the judge was fitted on, and says nothing of other texts", remedy)
    return judge.without(labelled.digest)


def _baselines(cases: Sequence[Case], task: str) -> dict[str, Floats]:
    """The share of the distinct words of each text, or of its references, that the other side has; the negative length."""
    pairs = [(_words(case.text), _words(" ".join(case.contexts))) for case in cases]
    whole = [theirs if task == CORRECTNESS else ours for ours, theirs in pairs]
    shared = [len(ours & theirs) / max(len(words), 1) for (ours, theirs), words in zip(pairs, whole, strict=True)]
    return {"overlap_auc": np.array(shared), "length_auc": -np.array([float(len(case.text)) for case in cases])}


def _words(text: str) -> set[str]:
    return {word.lower() for word in WORD.findall(text)}


def _with_nan(value: Any) -> Any:
    """JSON values with NaN for null: no figure of a card is None."""
    if isinstance(value, Mapping):
        return {name: _with_nan(part) for name, part in value.items()}
    return math.nan if value is None else value
