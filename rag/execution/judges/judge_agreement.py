"""The agreement of two judges on the same answers: on their order, and on which are faithful."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np

from rag.core.numbers import jsonable
from rag.evaluation.statistics.agreement import Decisions, Estimate, RankCorrelation, Resampled
from rag.evaluation.statistics.resampling import DRAWS
from rag.execution.graph.plan import Plan, PlannedTrial
from rag.execution.judges.judge_report import identity
from rag.execution.store.serialisation import assessment_of
from rag.execution.store.store import Store

Row = tuple[float, float, bool, bool, str]
"""The faithfulness of an answer by two judges, whether each calls it faithful, and the cluster of its question."""


@dataclass(frozen=True)
class Concordance:
    """The agreement of two judges on the faithfulness of `answers` answers, with 95 % intervals by cluster of questions.

    `kappa` is that of calling an answer faithful, each judge at its own threshold; NaN where it cannot be known.
    """

    first: str
    second: str
    answers: int
    spearman: Estimate
    kendall: Estimate
    kappa: Estimate

    def to_json(self) -> dict[str, Any]:
        """The agreement as JSON values, None for NaN."""
        figures = {name: jsonable(asdict(getattr(self, name))) for name in ("spearman", "kendall", "kappa")}
        return {"judges": [self.first, self.second], "answers": self.answers, **figures}


def concordances(made: Plan, store: Store, draws: int = DRAWS) -> list[Concordance]:
    """The agreement of every two judges of a plan that judged the same answers, in the order of the trials."""
    rows: dict[tuple[str, str], list[Row]] = {}
    seen: set[tuple[str, str]] = set()
    for one, other in combinations([trial for trial in made.trials if trial.ends.assess], 2):
        first, second = (identity(made, trial.trial.config) for trial in (one, other))
        stages = (one.ends.assess or "", other.ends.assess or "")
        if one.ends.check == other.ends.check and first != second and stages not in seen:
            seen.add(stages)
            rows.setdefault((_name(one), _name(other)), []).extend(_rows(one, other, made, store))
    return [_concordance(*names, found, draws) for names, found in rows.items() if found]


def _name(trial: PlannedTrial) -> str:
    """The label of the judge on the axis `judge`, or the name of its class."""
    return trial.trial.choices.get("judge") or str(trial.trial.config["judge"]["_target_"]).rpartition(".")[2]


def _rows(one: PlannedTrial, other: PlannedTrial, made: Plan, store: Store) -> Iterator[Row]:
    metas = [store.read_meta(made.stages[trial.ends.assess or ""].entry) for trial in (one, other)]
    if not all(metas):
        return
    first, second = (assessment_of(meta or {}) for meta in metas)
    for example, ours, theirs in zip(one.golden.examples, first, second, strict=True):
        if ours.verdict and theirs.verdict:
            values = ours.verdict.faithfulness, theirs.verdict.faithfulness
            if not any(map(math.isnan, values)):
                said = values[0] >= ours.threshold, values[1] >= theirs.threshold
                yield (*values, *said, example.cluster or example.query.query_id)


def _concordance(first: str, second: str, rows: Sequence[Row], draws: int) -> Concordance:
    ours, theirs = (np.array([row[place] for row in rows], np.float64) for place in (0, 1))
    said, also = (np.array([row[place] for row in rows], np.bool_) for place in (2, 3))
    clusters = [row[4] for row in rows]
    drawn = Resampled(clusters, draws)
    order = {name: drawn.measured(RankCorrelation(ours, theirs, name, clusters)) for name in ("spearman", "kendall")}
    return Concordance(first, second, len(rows), **order, kappa=drawn.measured(Decisions(said, also, "kappa")))
