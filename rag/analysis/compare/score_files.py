"""Files of scores, from any tool, as results to compare: the same paired, cluster-robust statistics as of trials."""

import math
from array import array
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from rag.analysis.compare import Tested, tabled
from rag.analysis.compare.direction import directions, listed
from rag.analysis.compare.table import Compared
from rag.authoring.exchange.score_rows import Score, scores_in
from rag.core.arrays import Floats, Ints
from rag.core.errors import ConfigError, DataError, closest
from rag.core.figures import amount
from rag.documents.folder.json_rows import shortened
from rag.evaluation.scoring import Scores
from rag.execution.sweep.trial_scores import Result

SUFFIXES = (".jsonl", ".csv", ".tsv", ".json")
WORDS = dict.fromkeys(("yes", "true", "pass", "passed", "correct"), 1.0)
WORDS |= dict.fromkeys(("no", "false", "fail", "failed", "incorrect"), 0.0)
WORDS |= dict.fromkeys(("", "nan", "none", "null", "n/a", "na"), math.nan)
"""Words that stand for a value: verdicts of judges, and what stands for no value."""
CELLS = 50_000_000
"""Questions × metrics of a file at most."""
GROUPS = 5_000
"""Clusters from which on they are tested in groups of several: a test of all would take gigabytes."""


@dataclass(frozen=True)
class ScoreTable:
    """The scores of a file. `values` are means over repeats, shape (questions, metrics), NaN for none.

    `repeats` counts them per question and metric, `clusters` holds the cluster of a question that has one.
    """

    path: str
    questions: Mapping[str, int]
    metrics: Mapping[str, int]
    values: Floats
    repeats: Ints
    clusters: Mapping[str, str]


def given(names: Sequence[str]) -> bool:
    """Whether arguments name files of scores, and not trials or their baselines only."""
    files = [Path(name) for name in names if name.endswith(SUFFIXES) and "=" not in name]
    return bool(files) and any(path.suffix != ".json" or not _is_baseline(path) for path in files)


def _is_baseline(path: Path) -> bool:
    if not path.is_file():
        return True  # the comparison of trials says what is missing
    with path.open("rb") as file:
        return file.read(64).split()[1:2] == [b'"digest":']


def read(path: Path) -> ScoreTable:
    """Read a file of scores; DataError for a value that is no number, and for a file of several runs."""
    questions, metrics, runs = dict[str, int](), dict[str, int](), dict[str, None]()
    clusters, texts = dict[str, str](), set[str]()
    rows, columns, values = array("l"), array("l"), array("d")
    for score in scores_in(path):
        if score.column and (score.metric in texts or (score.metric not in metrics and not _is_numeric(score.value))):
            texts.add(score.metric)
            continue
        row = questions.setdefault(score.question, len(questions))
        column = metrics.setdefault(score.metric, len(metrics))
        runs.setdefault(score.run)
        if score.cluster and clusters.setdefault(score.question, score.cluster) != score.cluster:
            what = f"puts a question into {score.cluster!r}, which was in {clusters[score.question]!r}"
            raise DataError(f"{path} row {score.row}", what, "give a question one cluster")
        for value in _numbers(score, path):
            rows.append(row)
            columns.append(column)
            values.append(value)
    if len(runs) > 1:
        what = f"holds {len(runs)} runs: several prompts, models or dataset runs"
        raise DataError(str(path), what, "export each run to a file of its own")
    shape = len(questions), len(metrics)
    if not metrics or math.prod(shape) > CELLS:
        what = f"has {shape[1]:,} metrics of {shape[0]:,} questions" if metrics else "has texts only, no number"
        raise DataError(str(path), what, "write rows of question, cluster, metric and value")
    places = np.frombuffer(rows, np.int64) * shape[1] + np.frombuffer(columns, np.int64)
    numbers = np.frombuffer(values, np.float64)
    known = ~np.isnan(numbers)
    sums = np.bincount(places[known], numbers[known], math.prod(shape)).reshape(shape)
    counts = np.bincount(places[known], minlength=math.prod(shape)).reshape(shape)
    means = np.divide(sums, counts, out=np.full(shape, np.nan), where=counts > 0)
    return ScoreTable(str(path), questions, metrics, means, counts, clusters)


def _is_numeric(value: Any) -> bool:
    if isinstance(value, str):
        try:
            float(value)
        except ValueError:
            return value.strip().lower() in WORDS and bool(value.strip())
    return value is not None and not isinstance(value, Mapping) and value != [] and value != ""


def _numbers(score: Score, path: Path) -> Sequence[float]:
    """The numbers of a cell, of a list each; DataError for a text, an object and infinity."""
    value = score.value
    if type(value) is float and math.isfinite(value):
        return (value,)
    if isinstance(value, list):
        return [number for each in value for number in _numbers(score._replace(value=each), path)]
    try:
        number = WORDS.get(value.strip().lower()) if isinstance(value, str) else math.nan if value is None else float(value)
        number = float(value) if number is None else number
    except (TypeError, ValueError):
        number = math.inf
    if math.isinf(number):
        what = f"{score.metric} is {shortened(repr(value))}, not a number"
        raise DataError(f"{path} row {score.row}", what, "write a number, or nothing where there is no value")
    return (number,)


@dataclass(frozen=True)
class Matched:
    """Files on the same questions: those of the base, then others. `values` has shape (files, questions, metrics).

    `cluster` numbers the cluster of each question, `lower` are the metrics of which less is better, `notes` say what a reader
    must know, `apart` are the questions that only one of base and others has.
    """

    tables: tuple[ScoreTable, ...]
    questions: tuple[str, ...]
    metrics: tuple[str, ...]
    values: Floats
    cluster: Ints
    lower: frozenset[str]
    notes: tuple[str, ...]
    added: tuple[str, ...]
    removed: tuple[str, ...]


def matched(names: Sequence[str], metrics: Sequence[str], better: Sequence[str]) -> Matched:
    """Read files and match their questions; UserError if they have no question or no metric in common."""
    if len(names) < 2:
        raise ConfigError("compare", f"{names[0]} is all there is to compare", "name a second file")
    if odd := next((name for name in names if not name.endswith(SUFFIXES) and not Path(name).is_file()), ""):
        raise ConfigError(odd, "is no file of scores", "compare files with files, and trials with trials")
    if len({Path(name).resolve() for name in names}) < len(names):
        raise ConfigError("compare", "a file is named twice", "name it once")
    found = tuple(read(Path(name)) for name in names)
    base, *others = found
    common = [metric for metric in base.metrics if all(metric in each.metrics for each in others)]
    if not common:
        sides = "; ".join(f"{each.path} has {', '.join(each.metrics)}" for each in found)
        raise DataError("metrics", f"the files have none in common: {sides}", "name them alike in each")
    for metric in metrics:
        if metric not in common:
            raise ConfigError(f"--metric {metric}", "is not in each file", closest(metric, common))
    chosen = tuple(dict.fromkeys(metrics or common))
    for each in others:
        if base.questions.keys().isdisjoint(each.questions):
            first = [repr(shortened(next(iter(side.questions)))) for side in (base, each)]
            what = f"has no question in common with {base.path}: {first[1]} is its first, and there {first[0]}"
            raise DataError(each.path, what, "a question needs the same text or id in both; a trace has an id of its own")
    questions = tuple(dict.fromkeys(name for each in found for name in each.questions))
    values = np.full((len(found), len(questions), len(chosen)), np.nan)
    numbers = {name: row for row, name in enumerate(questions)}
    for side, each in enumerate(found):
        rows = np.fromiter((numbers[name] for name in each.questions), np.int64, len(each.questions))
        values[side, rows] = each.values[:, [each.metrics[metric] for metric in chosen]]
    added = tuple(dict.fromkeys(name for each in others for name in each.questions.keys() - base.questions.keys()))
    removed = tuple(name for name in base.questions if any(name not in each.questions for each in others))
    lower = directions(chosen, better)
    cluster, notes = _clusters(found, questions), _notes(found, chosen, values, lower)
    grouped = int(cluster.max(initial=-1)) + 1
    if grouped > GROUPS:
        cluster = cluster % GROUPS
        notes += (f"{grouped:,} clusters are tested in {GROUPS:,} groups of them.",)
    return Matched(found, questions, chosen, values, cluster, lower, notes, tuple(sorted(added)), removed)


def _clusters(found: Sequence[ScoreTable], questions: Sequence[str]) -> Ints:
    """The number of each question's cluster, from 0; DataError where two files contradict each other."""
    clusters = dict[str, str]()
    for each in found:
        for question, cluster in each.clusters.items():
            if clusters.setdefault(question, cluster) != cluster:
                what = f"puts {shortened(question)!r} into {cluster!r}, and another file into {clusters[question]!r}"
                raise DataError(each.path, what, "give a question one cluster")
    numbers = dict[tuple[str, str], int]()
    named = ((name, "") if (name := clusters.get(question, "")) else ("", question) for question in questions)
    return np.fromiter((numbers.setdefault(name, len(numbers)) for name in named), np.int64, len(questions))


def _notes(found: Sequence[ScoreTable], metrics: Sequence[str], values: Floats, lower: Collection[str]) -> tuple[str, ...]:
    notes = [f"Less is better: {', '.join(sorted(lower))}."] if lower else []
    if higher := [metric for metric in metrics if metric not in lower]:
        notes.append(f"More is better: {', '.join(higher)}. --better METRIC=lower says otherwise.")
    for each in found:
        most, least = int(each.repeats.max(initial=0)), int(each.repeats[each.repeats > 0].min(initial=1 << 30))
        if most > 1:
            count = str(most) if most == least else f"{least} to {most}"
            notes.append(f"{each.path}: a question has {count} values of a metric; their mean counts as one.")
        if left := [metric for metric in each.metrics if metric not in metrics]:
            notes.append(f"{each.path}: not compared: {', '.join(left[:12])}{' …' if len(left) > 12 else ''}.")
    there = np.isnan(values)
    for column, metric in enumerate(metrics):
        if odd := int((there[:, :, column].any(axis=0) & ~there[:, :, column].all(axis=0)).sum()):
            notes.append(f"{metric}: {amount(odd, 'question')} without a value in one of the files, and left out.")
    return tuple(notes)


def compared(names: Sequence[str], metrics: Sequence[str] = (), better: Sequence[str] = ()) -> Compared:
    """Compare the first of several files of scores with each of the others, question by question, as one family."""
    found = matched(names, metrics, better)
    results = tuple(_named(each.path) for each in found.tables)
    rows = [
        Tested(results[0], result, metric, None, _both(found.values[[0, side], :, column].T))
        for side, result in enumerate(results[1:], 1)
        for column, metric in enumerate(found.metrics)
    ]
    for row in rows:
        if np.isnan(row.scores).all():
            what = f"{row.column} has no question with a value in both {names[0]} and {row.candidate.name}"
            raise DataError("compare", what, f"name the others with --metric; {listed(found.metrics)}")
    table = tabled(rows, found.cluster, found.lower)
    return Compared(results, replace(table, added=found.added, removed=found.removed, notes=found.notes))


def check_options(options: Mapping[str, Any], of_files: bool = True) -> None:
    """Raise ConfigError for an option that files of scores do not have, or trials."""
    for name, value in options.items():
        if value:
            what = "is for trials, and these are files of scores" if of_files else "is for files of scores, and this is a trial"
            raise ConfigError(name, what, "leave it out")


def _both(scores: Floats) -> Floats:
    scores[np.isnan(scores).any(axis=1)] = np.nan
    return scores


def _named(path: str) -> Result:
    scores = Scores((), (), np.empty((0, 0)), np.empty(0, np.bool_))
    return Result(path, path, {}, {}, scores, {}, {})
