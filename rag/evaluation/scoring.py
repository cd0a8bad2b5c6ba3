"""Rankings and answers → one score per question and column. Reads and writes no files.

Call `gold_table` once per chunking, `judge` once per ranking, `score` and `summarise` once per trial.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

import numpy as np

from rag.core.arrays import Flags, Floats
from rag.core.assessments import Assessment
from rag.core.corpus import Corpus
from rag.core.errors import ConfigError, closest
from rag.core.rankings import NOTHING, Rankings
from rag.core.roles import AnswerMetric, AssessedMetric, Judgements, RankingMetric
from rag.core.types import Answer, Example, Reply
from rag.evaluation.gold_matching import Hits, Judged, judge, read_chars
from rag.evaluation.gold_table import Gold, gold_table
from rag.evaluation.scores import Scores
from rag.evaluation.statistics.summary import Summary, summarise

Metric = RankingMetric | AnswerMetric | AssessedMetric
Budgets = Callable[[int], Judged]
"""A number of characters → the judgements of what is read of each ranking within it."""

CUT = re.compile(r"0*(?P<size>[1-9][0-9]{0,8})(?P<chars>chars)?")
FORMS = "write metric@5, metric@k (the trial's own k) or metric@2000chars, or an answer metric without a cut"


@dataclass(frozen=True)
class Column:
    """A metric at a cut-off, as typed: `size` ranks, or what is read first, up to `size` characters; no cut for answers."""

    name: str
    metric: str
    unit: Literal["ranks", "chars", ""] = ""
    size: int = 0

    def measure(self, metric: RankingMetric, judged: Judgements, budgets: Budgets | None = None) -> Floats:
        """The scores of all questions; `budgets` judges the rankings cut to a number of characters, None if it is not known.

        Without it an item that does not fit whole counts as nothing.
        """
        if self.unit != "chars":
            return metric.score(judged, np.full(len(judged.items), self.size, np.int64))
        if budgets is not None:
            judged = budgets(self.size)
        ranks = np.arange(1, judged.chars_read.shape[1] + 1)
        fits = (judged.chars_read <= self.size) & (ranks <= judged.items[:, None])
        return metric.score(judged, fits.sum(axis=1))


def parse_column(text: str, k: int, known: Collection[str] | None = None) -> Column:
    """Read `recall@5`, `recall@k`, `recall@2000chars` or `exact_match`; `known` are the metrics of the config.

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
    """Raise ConfigError if a ranking metric has no cut-off or an answer metric has one."""
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
    failed: Flags | None = None,
    assessments: Sequence[Assessment] | None = None,
    budgets: Budgets | None = None,
) -> Scores:
    """Score every question in every column; `answers` is None if nothing was generated, and holds None for a failed answer.

    `budgets` are those of `Column.measure`. Raises ConfigError for invalid columns.
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
            values[:, number] = column.measure(metric, judged, budgets)
        elif answers is not None and isinstance(metric, AnswerMetric):
            pairs = zip(examples, _without_gaps(examples, answers), strict=True)
            values[:, number] = [metric.measure(example, answer) for example, answer in pairs]
        elif answers is not None and assessments is not None and isinstance(metric, AssessedMetric):
            assessed = zip(_without_gaps(examples, answers), assessments, strict=True)
            values[:, number] = [metric.assess(answer, assessment) for answer, assessment in assessed]
    values[lost] = np.where(np.isnan(values[lost]), np.nan, 0.0)
    return Scores(tuple(example.query.query_id for example in examples), tuple(columns), values, lost)


def _without_gaps(examples: Sequence[Example], answers: Sequence[Answer | None]) -> list[Answer]:
    """The answers, with an empty one for each that failed."""
    pairs = zip(examples, answers, strict=True)
    return [answer or Answer(example.query, (), Reply("")) for example, answer in pairs]


def reading(judged: Judged) -> dict[str, list[float]]:
    """By rank, over questions with gold: the share of unjudged items and the characters that are read up to it."""
    asked, ranks = judged.answerable, np.arange(1, judged.judged.shape[1] + 1)
    there = np.minimum(ranks, judged.items[:, None])[asked]
    if not len(there):
        return {}
    holes = there - np.cumsum(judged.judged, axis=1)[asked]
    shares, chars = (holes / np.maximum(there, 1)).mean(axis=0), judged.chars_read[asked].mean(axis=0)
    return {"unjudged": np.round(shares, 6).tolist(), "chars_read": np.round(chars, 1).tolist()}


def budgets(rankings: Rankings, corpus: Corpus, examples: Sequence[Example], coverage: float) -> Budgets:
    """The judgements of these rankings within any number of characters; row i belongs to example i."""

    @cache  # several columns have the same number
    def within(chars: int) -> Judged:
        cut, parts = within_chars(rankings, corpus, chars)
        return judge(cut, gold_table(parts, examples, coverage))

    return within


def within_chars(rankings: Rankings, corpus: Corpus, chars: int) -> tuple[Rankings, Corpus]:
    """The first `chars` characters of every ranking, as rankings of chunks of their own, and these chunks.

    Chunks are read in the order of the row: a hit, then what a selector added to it. The last one loses its end.
    """
    used = rankings.positions != NOTHING
    place = rankings.positions[used]
    hits = replace(Hits.of(rankings), position=np.arange(len(place)))
    doc, start, end = corpus.doc[place], corpus.start[place], corpus.end[place]
    fresh = read_chars(hits, gold_table(Corpus(corpus.documents, doc, start, end), ()))
    over = hits.running(fresh) - chars
    kept = over < fresh
    positions = np.full(rankings.positions.shape, NOTHING, np.int32)
    positions[used] = np.where(kept, np.cumsum(kept) - 1, NOTHING)
    parts = Corpus(corpus.documents, doc[kept], start[kept], (end - np.maximum(over, 0))[kept])
    return replace(rankings, positions=positions), parts


def document_rankings(rankings: Rankings, corpus: Corpus) -> list[list[tuple[str, float]]]:
    """Rankings of (doc_id, score), best first: each document has the place and the score of its first chunk."""
    names = [document.doc_id for document in corpus.documents]
    ranked = []
    for question in range(len(rankings)):
        best: dict[str, float] = {}
        for position, value in rankings.row(question):
            best.setdefault(names[int(corpus.doc[position])], value)
        ranked.append(list(best.items()))
    return ranked
