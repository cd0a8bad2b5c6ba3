"""Rankings and answers → one score per question and column. Pure: reads no file, writes none.

The order of work: `gold_table` once per chunking, `judge` once per ranking, `score` and `summarise` once per trial.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rag.core.assessments import Assessment
from rag.core.corpus import Corpus
from rag.core.errors import ConfigError, closest
from rag.core.rankings import Rankings
from rag.core.records import Answer, Arrays, Example, Reply
from rag.core.roles import AnswerMetric, AssessedMetric, Judgements, RankingMetric
from rag.evaluation.gold_matching import Judged, judge
from rag.evaluation.gold_table import Gold, gold_table
from rag.evaluation.statistics.summary import Summary, summarise

__all__ = [
    "Column",
    "Gold",
    "Judged",
    "Scores",
    "Summary",
    "check_column",
    "document_rankings",
    "gold_table",
    "judge",
    "parse_column",
    "score",
    "summarise",
]

Metric = RankingMetric | AnswerMetric | AssessedMetric

CUT = re.compile(r"0*(?P<size>[1-9][0-9]{0,8})(?P<chars>chars)?")
FORMS = "write metric@5, metric@k (the trial's own k) or metric@2000chars, or an answer metric without a cut"


@dataclass(frozen=True)
class Column:
    """A metric at a cut-off, as typed: `size` ranks, or the ranks that fit into `size` characters; no cut for answers."""

    name: str
    metric: str
    unit: Literal["ranks", "chars", ""] = ""
    size: int = 0

    def cut(self, judged: Judgements) -> NDArray[np.int64]:
        """The last rank that counts, per question: within a budget, that of the last item that is read to its end."""
        if self.unit != "chars":
            return np.full(len(judged.items), self.size, np.int64)
        ranks = np.arange(1, judged.chars_read.shape[1] + 1)
        fits = (judged.chars_read <= self.size) & (ranks <= judged.items[:, None])
        cut: NDArray[np.int64] = fits.sum(axis=1)
        return cut


@dataclass(frozen=True)
class Scores:
    """One row per question, one column per metric: `values` float64 [questions, columns], NaN where one does not apply.

    `failed` marks questions that the trial could not answer: they score 0 in every column that applies to them.
    """

    query_ids: tuple[str, ...]
    columns: tuple[str, ...]
    values: NDArray[np.float64]
    failed: NDArray[np.bool_]

    def column(self, name: str) -> NDArray[np.float64]:
        """The scores of all questions in one column."""
        return self.values[:, self.columns.index(name)]

    def to_arrays(self) -> Arrays:
        """The table as named arrays, for a store."""
        names = {"query_ids": np.array(self.query_ids, dtype=np.str_), "columns": np.array(self.columns, dtype=np.str_)}
        return {**names, "values": self.values, "failed": self.failed}

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> "Scores":
        """The table that `to_arrays` gave away."""
        query_ids, columns = (tuple(str(name) for name in arrays[key]) for key in ("query_ids", "columns"))
        return cls(query_ids, columns, np.asarray(arrays["values"], np.float64), np.asarray(arrays["failed"], np.bool_))


def parse_column(text: str, k: int, known: Collection[str] | None = None) -> Column:
    """Read `recall@5`, `recall@k`, `recall@2000chars` or `exact_match`; `known` are the metrics that there are.

    Raises ConfigError for an unknown metric and for a cut-off that is not a whole number from 1.
    """
    metric, at, cutoff = str(text).partition("@")
    if known is not None and metric not in known:
        raise ConfigError("metrics", f"{text!r} names no metric that `metric` chooses", closest(metric, known))
    if not at:
        return Column(metric, metric)
    match = CUT.fullmatch(str(k) if cutoff == "k" else cutoff)
    if not match:
        given = f" with k={k}" if cutoff == "k" else ""
        raise ConfigError("metrics", f"{text!r}{given} has no cut-off from 1 to 999,999,999", FORMS)
    return Column(text, metric, "chars" if match["chars"] else "ranks", int(match["size"]))


def check_column(column: Column, metric: Metric) -> None:
    """Raise ConfigError where a ranking metric has no cut-off or an answer metric has one."""
    if isinstance(metric, RankingMetric) and not column.unit:
        raise ConfigError("metrics", f"{column.name!r} measures rankings and has no cut-off", FORMS)
    if not isinstance(metric, RankingMetric) and column.unit:
        raise ConfigError("metrics", f"{column.name!r} measures answers, which have no ranks", f"write {column.metric}")


def score(
    judged: Judgements,
    answers: Sequence[Answer | None] | None,
    examples: Sequence[Example],
    metrics: Mapping[str, Metric],
    columns: Sequence[str],
    k: int,
    failed: NDArray[np.bool_] | None = None,
    assessments: Sequence[Assessment] | None = None,
) -> Scores:
    """Score every question in every column; `answers` None means that nothing was generated, one that is None that it failed.

    Raises ConfigError for columns that cannot be read.
    """
    lost = np.zeros(len(examples), np.bool_) if failed is None else failed.copy()
    if answers is not None:
        lost |= np.array([answer is None for answer in answers], np.bool_)
    values = np.full((len(examples), len(columns)), np.nan)
    for number, name in enumerate(columns):
        column = parse_column(name, k, metrics)
        metric = metrics[column.metric]
        check_column(column, metric)
        if isinstance(metric, RankingMetric):
            values[:, number] = metric.score(judged, column.cut(judged))
        elif answers is not None and isinstance(metric, AnswerMetric):
            values[:, number] = _measured(metric, examples, answers)
        elif answers is not None and assessments is not None and isinstance(metric, AssessedMetric):
            values[:, number] = _assessed(metric, examples, answers, assessments)
    values[lost] = np.where(np.isnan(values[lost]), np.nan, 0.0)
    return Scores(tuple(example.query.query_id for example in examples), tuple(columns), values, lost)


def _measured(metric: AnswerMetric, examples: Sequence[Example], answers: Sequence[Answer | None]) -> list[float]:
    return [metric.measure(example, answer) for example, answer in zip(examples, _all(examples, answers), strict=True)]


def _assessed(
    metric: AssessedMetric, examples: Sequence[Example], answers: Sequence[Answer | None], assessments: Sequence[Assessment]
) -> list[float]:
    pairs = zip(_all(examples, answers), assessments, strict=True)
    return [metric.assess(answer, assessment) for answer, assessment in pairs]


def _all(examples: Sequence[Example], answers: Sequence[Answer | None]) -> list[Answer]:
    """An empty answer for every one that failed."""
    pairs = zip(examples, answers, strict=True)
    return [answer or Answer(example.query, (), Reply("")) for example, answer in pairs]


def document_rankings(rankings: Rankings, corpus: Corpus) -> list[list[tuple[str, float]]]:
    """Rankings of (doc_id, score), best first: every document stands where its first chunk stands, with that one's score."""
    names = [document.doc_id for document in corpus.documents]
    ranked = []
    for question in range(len(rankings)):
        best: dict[str, float] = {}
        for position, value in rankings.row(question):
            best.setdefault(names[int(corpus.doc[position])], value)
        ranked.append(list(best.items()))
    return ranked
