"""The calibration card of a judge: how it agrees with people, beside what the length and the words of a text alone would say.

A judge that was fitted on the very labels it is measured on is measured out of fold: every cluster is judged with weights that
have seen nothing of it.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from rag.agreement import DECISIONS, Auc, Decisions, Difference, Estimate, Resampled
from rag.claims import Case, first_failure
from rag.entries import Entry
from rag.errors import DataError
from rag.identity import code_identity, digest
from rag.labelled import Labelled
from rag.paired import ALPHA
from rag.resampling import DRAWS
from rag.roles import Judge
from rag.store import Store

Floats = NDArray[np.float64]
WORD = re.compile(r"\w+")
FOLDS = 10
SPACE = "cards"
"""Where cards lie in a store."""


@runtime_checkable
class Fitted(Protocol):
    """A judge whose weights come from labels; `fitted_on` is the sha256 of their file, empty for none."""

    @property
    def fitted_on(self) -> str:
        """Which labels."""
        ...

    @property
    def weights(self) -> Mapping[str, float]:
        """What is fitted."""
        ...

    def measure(self, cases: Sequence[Case]) -> list[Floats]:
        """All that supports are made of, one row per claim."""
        ...

    def supports(self, measures: Floats) -> Floats:
        """The supports of such rows."""
        ...

    def refitted(self, measures: Sequence[Floats], labels: Sequence[bool]) -> "Fitted":
        """The same judge with weights from these labels."""
        ...


@dataclass(frozen=True)
class Card:
    """How a judge agrees with the labels of one set, at its own `threshold`, with 95 % intervals by cluster.

    `judge` is the identity that the card belongs to. A text counts as supported as far as its weakest claim is. Texts that
    `abstained` or `failed` (a claim could not be judged) have no score and stand in no figure but their own. `folds` is the
    number of folds where the judge was fitted on these labels, 0 where it was not. `over_overlap` and `over_length` are paired
    differences in AUC. `why` is what was wrong with the first text that failed, where the judge says so.
    """

    judge: str
    data: str
    digest: str
    texts: int
    clusters: int
    supported: int
    abstained: int
    failed: int
    folds: int
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
        """The card that `to_json` gave."""
        values = {name: value for name, value in content.items() if name != "remarks"}
        kinds = {name: Difference if "p" in value else Estimate for name, value in values.items() if isinstance(value, dict)}
        made = {name: kind(**{part: _number(value) for part, value in values[name].items()}) for name, kind in kinds.items()}
        return cls(**{**values, **made})


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
    scores, abstained, failed, folds, why = _scores(judge, labelled)
    known = ~np.isnan(scores)
    labels = np.array(labelled.labels, np.bool_)[known]
    if labels.all() or not labels.any():
        what = f"only {len(labels)} of {len(known)} texts have a score{f'; the first that has none: {why}' if why else ''}"
        raise DataError(labelled.name, what, "a judge that can read them")
    kept = [case for case, one in zip(labelled.cases, known, strict=True) if one]
    clusters = [cluster for cluster, one in zip(labelled.clusters, known, strict=True) if one]
    drawn = Resampled(clusters, draws)
    rows = {"auc": scores[known], "overlap_auc": _overlaps(kept), "length_auc": -np.array([len(case.text) for case in kept])}
    aucs = {name: Auc(np.asarray(row, np.float64), labels) for name, row in rows.items()}
    values = {name: drawn.values(auc) for name, auc in aucs.items()}
    said = scores[known] >= judge.threshold
    made = {name: drawn.measured(Decisions(said, labels, name)) for name in DECISIONS}
    return Card(
        judge=identity,
        data=labelled.name,
        digest=labelled.digest,
        texts=len(labelled.cases),
        clusters=len(set(labelled.clusters)),
        supported=sum(labelled.labels),
        abstained=abstained,
        failed=failed,
        folds=folds,
        threshold=judge.threshold,
        over_overlap=drawn.difference(values["auc"], values["overlap_auc"]),
        over_length=drawn.difference(values["auc"], values["length_auc"]),
        why=why,
        **{name: drawn.measured(auc) for name, auc in aucs.items()},
        **made,
    )


def _scores(judge: Judge, labelled: Labelled) -> tuple[Floats, int, int, int, str]:
    """One score per text, NaN for none; how many abstained, how many failed, in how many folds they were made, and why not."""
    if isinstance(judge, Fitted) and judge.fitted_on == labelled.digest:
        measures = judge.measure(labelled.cases)
        scores = out_of_fold(judge, measures, labelled)
        silent = sum(not len(rows) for rows in measures)
        return scores, silent, int(np.isnan(scores).sum()) - silent, FOLDS, ""
    verdicts = judge.judge(labelled.cases)
    failed = [verdict.failures > 0 for verdict in verdicts]
    scores = np.array([math.nan if lost else verdict.weakest for lost, verdict in zip(failed, verdicts, strict=True)])
    return scores, int(np.isnan(scores).sum()) - sum(failed), sum(failed), 0, first_failure(verdicts)


def out_of_fold(judge: Fitted, measures: Sequence[Floats], labelled: Labelled, folds: int = FOLDS, seed: int = 0) -> Floats:
    """The score of every text, by weights that were fitted without its fold; clusters are never cut. NaN without claims."""
    _, cluster = np.unique(np.array(labelled.clusters, np.str_), return_inverse=True)
    fold = (np.random.default_rng([seed, 4]).permutation(int(cluster.max()) + 1) % folds)[cluster]
    scores = np.full(len(measures), math.nan)
    for held in range(min(folds, int(fold.max()) + 1)):
        outside, inside = np.flatnonzero(fold != held).tolist(), np.flatnonzero(fold == held).tolist()
        refitted = judge.refitted([measures[row] for row in outside], [labelled.labels[row] for row in outside])
        for row in inside:
            if len(measures[row]):
                scores[row] = refitted.supports(measures[row]).min()
    return scores


def _overlaps(cases: Sequence[Case]) -> Floats:
    """The share of the different words of a text that stand in its contexts."""
    return np.array([_overlap(_words(case.text), _words(" ".join(case.contexts))) for case in cases])


def _overlap(ours: set[str], theirs: set[str]) -> float:
    return len(ours & theirs) / len(ours) if ours else 0.0


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
