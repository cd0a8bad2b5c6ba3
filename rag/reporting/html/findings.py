"""Findings of the analyses for a report. Each is collected by itself; if one fails or is empty, the report says why."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rag.analysis import blame, finding_counts, headroom
from rag.core.arrays import Flags, Floats, Ints
from rag.core.errors import UserError
from rag.core.figures import figure, interval
from rag.evaluation.data import slices
from rag.evaluation.scoring import Scores
from rag.evaluation.statistics import resampling
from rag.evaluation.statistics.effects import Effects, choice_effects
from rag.evaluation.statistics.paired import ALPHA
from rag.execution.graph.plan import Plan, PlannedTrial
from rag.execution.store.store import Store
from rag.execution.sweep.objective import USUAL, Objective
from rag.reporting.html.judge_trust import judges
from rag.reporting.html.view_model import Heat, Listing
from rag.reporting.html.wording import MISSING

DIMENSIONS = ("kind", "tag", "words", "turns", "answerable")
MOST_SLICES = 10


@dataclass(frozen=True)
class Scored:
    """Trials with scores on the same questions, the most important first.

    `elsewhere` counts trials with other questions, `behind` those of the same questions that are left out.
    """

    made: Plan
    store: Store
    objective: Objective
    trials: Sequence[PlannedTrial]
    results: Sequence[Scores]
    elsewhere: int = 0
    behind: int = 0

    @property
    def column(self) -> str:
        """The metric column of the findings: that of the objective, or the usual one if the objective is measured by trial."""
        columns = self.results[0].columns
        return self.objective.column if not self.objective.measured else USUAL if USUAL in columns else columns[0]

    def values(self, result: Scores) -> Floats:
        """The objective per question, shape (questions,); `column` if the objective is measured by trial."""
        if self.objective.measured:
            return result.column(self.column)
        return self.objective.sign * self.objective.per_question(result)

    @property
    def table(self) -> Floats:
        """`values` of all trials, shape (questions, trials)."""
        return np.stack([self.values(result) for result in self.results], axis=1)

    @property
    def cluster(self) -> Ints:
        """The number of each question's cluster, shape (questions,)."""
        return resampling.cluster_numbers(self.trials[0].golden.examples)


@dataclass
class Findings:
    """Parts of a report by field of Material, reasons for missing ones, and the stage that lost each question by trial."""

    parts: dict[str, Any] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    lost: dict[str, dict[str, int]] = field(default_factory=dict)


def collect_findings(scored: Scored, concluded: Mapping[str, Any]) -> Findings:
    """Run every analysis; `concluded` is the conclusion of the sweep as JSON, with its effects and controls."""
    found = Findings()
    generates = scored.trials[0].ends.generate is not None
    varied = any(len(choices) > 1 for choices in scored.made.experiment.axes.values())
    nothing = {
        "effects": "No two trials differ in one choice alone."
        if varied
        else "An effect is the difference between two choices: this experiment varies nothing.",
        "headroom": "No part of this trial can be made perfect by itself.",
        "controls": "No controls of this trial were measured: rag sweep runs them where answers are generated and scored."
        if generates
        else "The recommended trial generates no answers: there is nothing to read other contexts for.",
        "found": "No check or guard looked at an answer: check=[citations,numbers] and guard=[scan] are some."
        if generates
        else "No answers were generated.",
    }
    finders: dict[str, Callable[[], Mapping[str, Any]]] = {
        "effects": lambda: _effects(scored, concluded.get("effects")),
        "heat": lambda: {"heat": _heat(scored)},
        "blame": lambda: {"blame": _blame(scored, found.lost)},
        "headroom": lambda: _headroom(scored),
        "controls": lambda: {"controls": _controls(scored, concluded.get("controls"))},
        "found": lambda: {"found": _check_findings(scored)},
        "judges": lambda: {"judges": judges(scored.made, scored.store, scored.trials[0])},
        "routes": lambda: {"routes": _confusion(scored, "route", "went to")},
        "inputs": lambda: {"inputs": _confusion(scored, "input", "taken for")},
    }
    for section, find in finders.items():
        try:
            parts = find()
        except UserError as error:
            found.missing[section] = f"{error.where}: {error.what}. To have it: {error.remedy}."
            continue
        found.parts |= parts
        if not any(parts.values()):
            found.missing[section] = nothing.get(section, MISSING[section])
    return found


def _effects(scored: Scored, concluded: Mapping[str, Any] | None) -> dict[str, Any]:
    """Effects as the sweep concluded them, or computed now; only significant interactions."""
    found = Effects.from_json(concluded) if concluded else _effects_now(scored)
    if not found or not found.effects:
        return {"effects": ()}
    significant = tuple(each for each in found.interactions if each.p_adjusted <= ALPHA)
    return {"effects": found.effects, "interactions": significant, "effects_sentence": f"{found.sentence}."}


def _effects_now(scored: Scored) -> Effects | None:
    if scored.objective.measured:
        return None
    axes = {axis: [choice.label for choice in choices] for axis, choices in scored.made.experiment.axes.items()}
    pairs = [(trial.trial.choices, values) for trial, values in zip(scored.trials, scored.table.T, strict=True)]
    return choice_effects([pair for pair in pairs if pair[0].keys() >= axes.keys()], scored.cluster, axes)


def _heat(scored: Scored) -> Heat | None:
    golden = scored.trials[0].golden
    parts = list(slices.slices_along(golden, DIMENSIONS))
    table, cluster = scored.table, scored.cluster
    # Unanswerable questions have no retrieval score, and a dimension with one value is the whole set.
    parts = [part for part in parts if not np.isnan(table[part.members]).all()]
    values = Counter(part.dimension for part in parts)
    several = [part for part in parts if values[part.dimension] > 1]
    first = sorted(several, key=lambda part: (part.dimension != DIMENSIONS[0], -int(part.members.sum())))[:MOST_SLICES]
    parts = [part for part in several if any(part is kept for kept in first)]
    if not parts:
        return None
    means, errors, n = (np.stack(columns) for columns in zip(*(_part(table, cluster, p.members) for p in parts), strict=True))
    believed = np.full(means.shape, np.nan)
    dimensions = np.array([part.dimension for part in parts])
    for column, overall in enumerate(np.nanmean(table, axis=0).tolist()):
        for dimension in dict.fromkeys(dimensions.tolist()):
            rows = dimensions == dimension
            believed[rows, column] = slices.shrunk(means[rows, column], errors[rows, column], n[rows, column], overall)
    sizes = {part.name: int(count) for part, count in zip(parts, n.max(axis=1), strict=True)}
    return Heat(sizes, dict(zip((trial.trial_id for trial in scored.trials), believed.T.tolist(), strict=True)))


def _part(table: Floats, cluster: Ints, members: Flags) -> tuple[Floats, Floats, Ints]:
    """Means, standard errors and numbers of questions of one slice, each of shape (trials,)."""
    values = table[members]
    known = ~np.isnan(values)
    n = known.sum(axis=0)
    groups = int(cluster.max(initial=0)) + 1
    sums = resampling.by_cluster(np.where(known, values, 0.0), cluster[members], groups)
    counts = resampling.by_cluster(known.astype(np.float64), cluster[members], groups)
    means = np.divide(sums.sum(axis=0), n, out=np.full(len(n), np.nan), where=n > 0)
    return means, resampling.standard_error(sums, counts), n


def _blame(scored: Scored, lost: dict[str, dict[str, int]]) -> dict[str, dict[str, int]]:
    reader, counts = blame.Reader(scored.made, scored.store), {}
    for trial in scored.trials:
        wrong = blame.wrong(trial, scored.made, scored.store)
        found = blame.lost_questions(trial, scored.made, scored.store, wrong=wrong, reader=reader)
        lost[trial.trial_id] = {question.query_id: blame.STAGES.index(question.stage) + 1 for question in found}
        counts[trial.trial_id] = blame.counts(found)
    return counts


def _headroom(scored: Scored) -> dict[str, Any]:
    found = headroom.measure_headroom(scored.trials[0], scored.made, scored.store, scored.column)
    return {"headroom": found, "headroom_sentence": headroom.sentence(found)}


def _controls(scored: Scored, results: Sequence[Mapping[str, Any]] | None) -> Listing | None:
    """The controls of the recommended trial as its sweep measured them: a report runs nothing that may cost money."""
    if not results:
        return None
    columns, names = (tuple(dict.fromkeys(result[key] for result in results)) for key in ("column", "name"))
    cells = {(result["name"], result["column"]): _control_cell(result) for result in results}
    lines = [(name.replace("_", " "), *(cells.get((name, column), "–") for column in columns)) for name in names]
    sentence = f"Answers of {scored.trials[0].trial.name}, and of its generator with other contexts than those that it found."
    return Listing(columns, tuple(lines), sentence)


def _control_cell(result: Mapping[str, Any]) -> str:
    if result.get("error"):
        return "failed"
    if result["difference"] is None:
        return interval(result["mean"], result["mean_low"], result["mean_high"])
    return f"{figure(result['mean'])} ({interval(result['difference'], result['low'], result['high'], signed=True)})"


def _confusion(scored: Scored, choice: finding_counts.Choice, went: str) -> Listing | None:
    """Right and chosen routes or kinds of messages, once for all trials that choose alike."""
    found = dict[str, tuple[str, finding_counts.Matrix]]()
    for trial in scored.trials:
        if matrix := finding_counts.confusion(trial, scored.made, scored.store, choice):
            found.setdefault(str(matrix), (trial.trial.name, matrix))
    lines = [
        (f"{name}: {right}", *map(str, chosen.values())) for name, matrix in found.values() for right, chosen in matrix.items()
    ]
    return Listing(tuple(f"{went} {name}" for name in finding_counts.NAMES[choice]), tuple(lines)) if lines else None


def _check_findings(scored: Scored) -> Listing | None:
    heads, lines = finding_counts.as_table(finding_counts.count_findings(scored.made, scored.store))
    return Listing(heads, tuple(lines)) if lines else None
