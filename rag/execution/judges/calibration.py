"""The calibration card of a judge: how it agrees with people, beside what the length and the words of a text alone would say.

A judge whose weights come from several sets of labels is measured on each of these with the weights that the others give.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from rag.config.identity import code_identity, digest
from rag.core.assessments import Case, first_failure
from rag.core.errors import DataError
from rag.core.roles import Judge
from rag.evaluation.statistics.agreement import DECISIONS, Auc, Decisions, Difference, Estimate, Resampled, calibration_error
from rag.evaluation.statistics.paired import ALPHA
from rag.evaluation.statistics.prediction_powered import powered_mean
from rag.evaluation.statistics.resampling import DRAWS
from rag.execution.judges.human_labels import ANSWER, Labelled
from rag.execution.store.entry_format import Entry
from rag.execution.store.store import Store

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Weights = Mapping[str, float]
WORD = re.compile(r"\w+")
SPACE = "cards"
"""Where cards lie in a store."""


@runtime_checkable
class Fitted(Protocol):
    """A judge whose weights come from labels."""

    @property
    def weights(self) -> Weights:
        """What is fitted."""
        ...

    @property
    def fitted_on(self) -> Mapping[str, Weights]:
        """The sha256 of every file of labels, and the weights that the other files give."""
        ...

    def measure(self, cases: Sequence[Case]) -> Floats:
        """All that supports are made of, one row per text."""
        ...

    def refitted(self, measures: Sequence[Floats], labels: Sequence[Sequence[bool]]) -> "Fitted":
        """The same judge with weights from the labels of several sets, which count alike."""
        ...

    def without(self, digest: str) -> Judge:
        """The judge with the weights that the files other than this one give."""
        ...


def fit(judge: Fitted, sets: Sequence[Labelled]) -> dict[str, Any]:
    """The `weights` that some sets give together, and `fitted_on`; of one set alone, that has no other weights."""
    measures = [judge.measure(one.cases) for one in sets]
    labels = [one.labels for one in sets]
    others = [[row for row in range(len(sets)) if row != own] for own in range(len(sets)) if len(sets) > 1]
    apart = [judge.refitted([measures[row] for row in rows], [labels[row] for row in rows]).weights for rows in others]
    fitted_on = {one.digest: dict(weights) for one, weights in zip(sets, apart or [{}], strict=True)}
    return {"weights": dict(judge.refitted(measures, labels).weights), "fitted_on": fitted_on}


@dataclass(frozen=True)
class Card:
    """How a judge agrees with the labels of one set, at its own `threshold`, with 95 % intervals by cluster.

    `judge` is the identity that the card belongs to, `kinds` are the kinds of text that were measured. Texts that `abstained`
    or `failed` (a claim could not be judged) have no score and stand in no figure but their own. `held_out` says that the judge
    was fitted on these labels too, and measured with the weights that the other sets give. `over_overlap` and `over_length`
    are paired differences in AUC, `error` is the expected calibration error. `pairs` has the faithfulness that the judge says
    of each text, whether people call it supported, and the number of its cluster. `why` is what was wrong with the first text
    that failed, where the judge says so.
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
    pairs: tuple[tuple[float, bool, int], ...] = ()

    @property
    def remarks(self) -> list[str]:
        """What a reader must know before trusting the judge; empty for a judge that beats both baselines."""
        beaten = (("word overlap", self.over_overlap), ("length", self.over_length))
        found = [f"does not beat {name} alone on {self.data}" for name, over in beaten if not _beats(over)]
        if self.failed:
            why = f"; the first: {self.why}" if self.why else ""
            found.append(f"{self.failed} of {self.texts} texts could not be judged and are in no figure{why}")
        return found

    def to_json(self) -> dict[str, Any]:
        """The card as JSON values, None for NaN."""
        return {**_plain(asdict(self)), "remarks": self.remarks}

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> "Card":
        """The card that `to_json` gave; one of older code says nothing of the fields that it has not."""
        known = {one.name for one in fields(cls)}
        values = {name: value for name, value in content.items() if name in known}
        kinds = {name: Difference if "p" in value else Estimate for name, value in values.items() if isinstance(value, dict)}
        made: dict[str, Any] = {
            name: kind(**{part: _number(value) for part, value in values[name].items()}) for name, kind in kinds.items()
        }
        made["kinds"], made["pairs"] = tuple(values.get("kinds", ())), tuple(map(tuple, values.get("pairs", ())))
        return cls(**{**values, **made, "error": _number(values.get("error"))})

    @property
    def speaks_of_answers(self) -> bool:
        """Whether answers were measured, and judge and people can be compared text by text."""
        return ANSWER in self.kinds and bool(self.pairs)

    def people(self, said: Sequence[float], clusters: Sequence[str]) -> Estimate:
        """The share of some answers that people would call supported, given the faithfulness that the judge says of each."""
        known, people, own = zip(*self.pairs, strict=True)
        labels = np.array(known, np.float64), np.array(people, np.float64)
        return powered_mean(np.array(said, np.float64), *labels, clusters, [str(number) for number in own])


def card_of(judge: Judge, labelled: Labelled, identity: str, store: Store) -> Card:
    """The card of a judge on a set, from the store where it is; made where it is not, and then yet to be kept."""
    found = store.read_meta(_place(identity, labelled.digest, labelled.name))
    return Card.from_json(found) if found else calibrate(judge, labelled, identity)


def keep(card: Card, store: Store) -> None:
    """Put a card where `cards` finds it; StoreError where it cannot be written."""
    store.write(_place(card.judge, card.digest, card.data), Entry(meta=card.to_json()))


def cards(store: Store, identity: str) -> list[Card]:
    """The cards of the judge with that identity, by the name of the set; of several of one set that of today's code."""
    found = ((key, store.read_meta(key)) for key in store.keys(SPACE))
    own = [(key, Card.from_json(content)) for key, content in found if content and content["judge"] == identity]
    own.sort(key=lambda each: each[0] == _place(identity, each[1].digest, each[1].data))
    latest = {(card.data, card.digest): card for _, card in own}
    return [latest[name] for name in sorted(latest)]


def _place(identity: str, labels: str, name: str) -> str:
    return f"{SPACE}/{digest(identity, labels, name, code_identity(__name__))}"


def calibrate(judge: Judge, labelled: Labelled, identity: str = "", draws: int = DRAWS) -> Card:
    """Measure a judge; DataError where so many texts have no score that labels of one kind are left."""
    verdicts = _unbiased(judge, labelled).judge(labelled.cases)
    scores = np.array([math.nan if one.failures else one.support for one in verdicts])
    why, failed, known = first_failure(verdicts), sum(one.failures > 0 for one in verdicts), np.flatnonzero(~np.isnan(scores))
    labels = np.array(labelled.labels, np.bool_)[known]
    if labels.all() or not labels.any():
        what = f"only {len(labels)} of {len(scores)} texts have a score{f'; the first that has none: {why}' if why else ''}"
        raise DataError(labelled.name, what, "a judge that can read them")
    clusters = [labelled.clusters[row] for row in known]
    numbers = np.unique(np.array(clusters, np.str_), return_inverse=True)[1].tolist()
    said, cases = [verdicts[row].faithfulness for row in known], [labelled.cases[row] for row in known]
    return Card(
        judge=identity,
        data=labelled.name,
        digest=labelled.digest,
        texts=len(labelled.cases),
        clusters=len(set(labelled.clusters)),
        supported=sum(labelled.labels),
        abstained=len(scores) - len(known) - failed,
        failed=failed,
        threshold=judge.threshold,
        why=why,
        held_out=isinstance(judge, Fitted) and labelled.digest in judge.fitted_on,
        kinds=labelled.kinds,
        error=calibration_error(scores[known], labels),
        pairs=tuple(zip(said, labels.tolist(), numbers, strict=True)),
        **_agreement(scores[known], labels, Resampled(clusters, draws), judge.threshold, cases),
    )


def _agreement(scores: Floats, labels: Bools, drawn: Resampled, threshold: float, cases: Sequence[Case]) -> dict[str, Any]:
    """Everything of a card that has an interval, by its name there."""
    rows = {"auc": scores, "overlap_auc": _overlaps(cases), "length_auc": -np.array([float(len(case.text)) for case in cases])}
    aucs = {name: Auc(row, labels) for name, row in rows.items()}
    values = {name: drawn.values(auc) for name, auc in aucs.items()}
    said = scores >= threshold
    return {
        "over_overlap": drawn.difference(values["auc"], values["overlap_auc"]),
        "over_length": drawn.difference(values["auc"], values["length_auc"]),
        **{name: drawn.measured(auc) for name, auc in aucs.items()},
        **{name: drawn.measured(Decisions(said, labels, name)) for name in DECISIONS},
    }


def _unbiased(judge: Judge, labelled: Labelled) -> Judge:
    """The judge as far as it has seen nothing of some labels; DataError where it has seen nothing else."""
    if not isinstance(judge, Fitted) or labelled.digest not in judge.fitted_on:
        return judge
    if not judge.fitted_on[labelled.digest]:
        remedy = f"fit it on a second set too: rag judge fit data=wice,{labelled.name}"
        raise DataError(labelled.name, "is all that the judge was fitted on, and says nothing of other texts", remedy)
    return judge.without(labelled.digest)


def _overlaps(cases: Sequence[Case]) -> Floats:
    """The share of the different words of a text that stand in its contexts."""
    pairs = ((_words(case.text), _words(" ".join(case.contexts))) for case in cases)
    return np.array([len(ours & theirs) / max(len(ours), 1) for ours, theirs in pairs])


def _words(text: str) -> set[str]:
    return {word.lower() for word in WORD.findall(text)}


def _beats(over: Difference) -> bool:
    return over.value > 0 and over.p <= ALPHA


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    return None if isinstance(value, float) and math.isnan(value) else value


def _number(value: float | None) -> float:
    return math.nan if value is None else value
