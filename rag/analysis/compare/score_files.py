"""Files of scores from any tool as results: the same paired, cluster-robust statistics as of trials."""

import math
import re
from array import array
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from rag.analysis.compare import Tested, tabled
from rag.analysis.compare.comparability import UNITS, check_bridges, common_columns, comparable, differing_questions
from rag.analysis.compare.trials import Compared
from rag.authoring.exchange.score_rows import scored_rows
from rag.config.identity import digest
from rag.core.arrays import Floats, Ints
from rag.core.checks import check_choice
from rag.core.errors import ConfigError, DataError
from rag.core.figures import amount
from rag.documents.folder.json_rows import shortened
from rag.evaluation.scoring import Scores
from rag.execution.sweep.trial_scores import Result

WORDS = dict.fromkeys(("yes", "true", "pass"), 1.0) | dict.fromkeys(("no", "false", "fail"), 0.0)
WORDS |= dict.fromkeys(("", "nan", "none", "null", "n/a"), math.nan)
"""Verdicts of judges as values, and words for no value."""
GROUPS, CELLS = 5_000, 50_000_000
"""Clusters above which several are tested as one: a test of all would take gigabytes. Values of a file at most."""
LESS = re.compile(
    rf"{UNITS.pattern}|errors?|fail(ed|ures?)|toxicity|bias|hallucinations?|noise|perplexity|distance|attack|(^|[^a-z])[wc]er([^a-z]|$)",
    re.IGNORECASE,
)
"""Metrics of which less is better: those of Assay, ragas, DeepEval and MLflow, times and costs."""


def given(names: Sequence[str]) -> bool:
    """Whether a path among the arguments is a file of scores, and not a baseline of a trial."""
    files = [Path(name) for name in names if name.endswith((".jsonl", ".csv", ".tsv", ".json")) and "=" not in name]
    return any(path.suffix != ".json" or (path.is_file() and not _is_baseline(path)) for path in files)


def _is_baseline(path: Path) -> bool:
    with path.open("rb") as file:
        return b'"digest"' in file.read(32)


@dataclass(frozen=True)
class ScoreFiles:
    """Files matched by question: `values` has shape (files, questions of the base, columns), NaN for none.

    `cluster` numbers clusters from 0, of `lower` columns less is better, `notes` are sentences for the reader.
    """

    results: tuple[Result, ...]
    columns: tuple[str, ...]
    values: Floats
    cluster: Ints
    lower: frozenset[str]
    notes: tuple[str, ...]


def read(path: Path, clusters: dict[str, str], notes: list[str]) -> Result:
    """A file as a result; several values of a question and metric are repeats, and count by their mean.

    `clusters` of questions are added. DataError for text where a number must be, a second cluster, and several runs.
    """
    questions, metrics, runs, texts = dict[str, int](), dict[str, int](), set[str](), set[str]()
    rows, columns, values = array("l"), array("l"), array("d")
    for row in scored_rows(path):
        runs.add(row.run)
        if row.cluster and clusters.setdefault(row.question, row.cluster) != row.cluster:
            what = f"puts a question into {row.cluster!r}, which was in {clusters[row.question]!r}"
            raise DataError(row.where, what, "give a question one cluster")
        number = questions.setdefault(row.question, len(questions))
        for metric, value in row.values.items():
            numbers = _numbers(value)
            if numbers is None and metric not in texts and not (row.table and metric not in metrics):
                what = f"{metric} is {shortened(repr(value))}, not a number"
                raise DataError(row.where, what, "write a number, or nothing where there is no value")
            if numbers is None:
                texts.add(metric)
            for each in numbers or () if metric not in texts else ():
                rows.append(number)
                columns.append(metrics.setdefault(metric, len(metrics)))
                values.append(each)
    shape = len(questions), len(metrics)
    if len(runs) > 1 or math.prod(shape) > CELLS:
        what = f"holds {len(runs)} runs, {shape[0]:,} questions and {shape[1]:,} metrics"
        raise DataError(str(path), what, "export each run to its own file: one prompt, model and data set")
    cells = np.array(rows, np.int64) * shape[1] + np.array(columns, np.int64)
    counts, sums = (np.bincount(cells, weights, math.prod(shape)).reshape(shape) for weights in (None, np.array(values)))
    if (most := int(counts.max(initial=0))) > 1:
        notes.append(f"{path}: up to {most} values of a question and metric; their mean counts as one.")
    means = np.divide(sums, counts, out=np.full(shape, np.nan), where=counts > 0)
    scores = Scores(tuple(questions), tuple(metrics), means, np.zeros(len(questions), np.bool_))
    return Result(str(path), str(path), {}, {}, scores, dict.fromkeys(questions, ""), {"golden": digest(sorted(questions))})


def _numbers(value: Any) -> list[float] | None:
    """The numbers in a cell, none for no value; None for text and infinity."""
    if isinstance(value, list):
        parts = [_numbers(each) for each in value]
        return None if None in parts else [number for part in parts for number in part or ()]
    known = WORDS.get(value.strip().lower()) if isinstance(value, str) else math.nan if value is None else None
    try:
        number = float(value) if known is None else known
    except (TypeError, ValueError, OverflowError):
        return None
    return None if math.isinf(number) else [] if math.isnan(number) else [number]


def matched(names: Sequence[str], columns: Sequence[str], lower: Sequence[str], bridges: Collection[str]) -> ScoreFiles:
    """Read files and match their questions by text or id; UserError as for trials that are not comparable."""
    if len(names) < 2 or len({Path(name).resolve() for name in names}) < len(names):
        raise ConfigError(" ".join(names), "is all there is to compare", "name another file of scores")
    check_bridges(bridges)
    clusters, notes = dict[str, str](), list[str]()
    base, *others = results = [read(Path(name), clusters, notes) for name in names]
    if not (common := common_columns(results)):
        sides = "; ".join(f"{each.name} has {', '.join(each.scores.columns) or 'none'}" for each in results)
        raise DataError("metrics", f"the files have none in common: {sides}", "name a metric alike in each file")
    for each in others:
        if base.questions.keys().isdisjoint(each.questions):
            what = f"has no question in common with {base.name}, for example {shortened(each.scores.query_ids[0])!r}"
            raise DataError(each.name, what, "a question needs the same text or id in both; ids of traces differ between runs")
        comparable(base, each, bridges)
    for column in (*columns, *lower):
        check_choice("metrics that all files have", column, common)
    chosen = tuple(dict.fromkeys(columns or common))
    values = np.full((len(results), len(base.questions), len(chosen)), np.nan)
    for side, result in enumerate(results):
        rows = {name: row for row, name in enumerate(result.scores.query_ids)}
        pairs = np.array([(row, rows[name]) for row, name in enumerate(base.questions) if name in rows])
        values[side, pairs[:, 0]] = np.stack([result.scores.column(column) for column in chosen], axis=1)[pairs[:, 1]]
    less = frozenset(column for column in chosen if column in lower or LESS.search(column))
    notes += _notes(results, chosen, values, less)
    named = [clusters.get(name) or f"\0{name}" for name in base.questions]
    numbers = {name: number for number, name in enumerate(sorted(set(named)))}
    cluster = np.array([numbers[name] for name in named], np.int64)
    if len(numbers) > GROUPS:
        cluster %= GROUPS
        notes.append(f"{len(numbers):,} clusters are tested as {GROUPS:,} groups of clusters.")
    return ScoreFiles(tuple(results), chosen, values, cluster, less, tuple(notes))


def _notes(results: Sequence[Result], columns: Sequence[str], values: Floats, less: Collection[str]) -> list[str]:
    left = sorted({name for each in results for name in each.scores.columns} - set(columns))
    halves = np.isnan(values).any(axis=0) & ~np.isnan(values).all(axis=0)
    odd = [
        f"{amount(int(half.sum()), 'question')} of {name}"
        for name, half in zip(columns, np.transpose(halves), strict=True)
        if half.any()
    ]
    more = ", ".join(name for name in columns if name not in less)
    lines = {"Less is better": ", ".join(sorted(less)), "More is better, unless --lower says otherwise": more}
    lines |= {"Not in each file, or not asked for": ", ".join(left), "Without a value in one of the files": ", ".join(odd)}
    return [f"{name}: {listed}." for name, listed in lines.items() if listed]


def compared(
    names: Sequence[str], columns: Sequence[str] = (), lower: Sequence[str] = (), bridges: Collection[str] = ()
) -> Compared:
    """Compare the first of several files of scores with each of the others, question by question, as one family."""
    found = matched(names, columns, lower, bridges)
    base, *others = found.results
    sides = [(result, found.values[[0, side]]) for side, result in enumerate(others, 1)]
    rows = [
        Tested(base, result, column, None, np.where(np.isnan(both).any(axis=0), np.nan, both)[:, :, place].T)
        for result, both in sides
        for place, column in enumerate(found.columns)
        if not np.isnan(both[:, :, place]).any(axis=0).all()
    ]
    if not rows:
        raise DataError("metrics", "no question has a value in both files", "score the same questions in both")
    table = tabled(rows, found.cluster, found.lower)
    differing = [differing_questions(base, each) for each in others]
    added, removed = (tuple(dict.fromkeys(name for each in differing for name in each[part])) for part in range(2))
    return Compared(found.results, replace(table, added=added, removed=removed, notes=found.notes))
