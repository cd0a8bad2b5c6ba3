"""What other rooms find in a sweep, each asked by itself: where one finds nothing the report says why, and goes on."""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag.analysis import ann_audit, blame, finding_counts, headroom
from rag.core.errors import UserError
from rag.evaluation.data import slices
from rag.evaluation.scoring import Scores
from rag.evaluation.statistics import effects, resampling
from rag.evaluation.statistics.paired import ALPHA
from rag.execution.graph.plan import Plan, PlannedTrial
from rag.execution.store.store import Store
from rag.execution.sweep.objective import USUAL, Objective
from rag.reporting.html.judge_trust import UNJUDGED, judges
from rag.reporting.html.number_format import difference, interval, number
from rag.reporting.html.view_model import Blame, Factor, Gain, Heat, Line, Listing, Mean

Floats = NDArray[np.float64]

DIMENSIONS = ("kind", "tag", "words", "turns", "answerable")
MOST_SLICES = 10
MOST_AUDITED = 12
"""Trials whose indexes are audited, the ones that matter most: an exact search of every question is behind each."""


@dataclass(frozen=True)
class Scored:
    """Trials with scores on the same questions, the ones that matter most first; `elsewhere` counts those on other ones."""

    made: Plan
    store: Store
    objective: Objective
    trials: Sequence[PlannedTrial]
    results: Sequence[Scores]
    elsewhere: int = 0

    @property
    def column(self) -> str:
        """The metric column that findings are about: the objective's own, or the usual one where a clock decides."""
        columns = self.results[0].columns
        return self.objective.column if not self.objective.measured else USUAL if USUAL in columns else columns[0]

    def values(self, result: Scores) -> Floats:
        """The objective per question as people read it; where a clock decides, that column."""
        if self.objective.measured:
            return result.column(self.column)
        return self.objective.sign * self.objective.per_question(result)

    @property
    def table(self) -> Floats:
        """Shape (questions, trials)."""
        return np.stack([self.values(result) for result in self.results], axis=1)

    @property
    def cluster(self) -> NDArray[np.int64]:
        """The number of each question's cluster."""
        return resampling.cluster_numbers(self.trials[0].golden.examples)


@dataclass
class Findings:
    """Parts of a report by their name there, why others are missing, and the stage that lost each question of each trial."""

    parts: dict[str, Any] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    lost: dict[str, dict[str, int]] = field(default_factory=dict)

    def ask(self, section: str, find: Callable[[], Mapping[str, Any]], nothing: str = "") -> None:
        """Add what one room finds; if that is nothing, say why."""
        try:
            found = find()
        except UserError as error:
            self.missing[section] = f"{error.where}: {error.what}. To have it: {error.remedy}."
            return
        self.parts |= found
        if nothing and not any(found.values()):
            self.missing[section] = nothing


def collect_findings(scored: Scored, told: Mapping[str, Any]) -> Findings:
    """Ask every room; `told` is what the sweep concluded, with its effects and controls."""
    found = Findings()
    varied = [axis for axis, choices in scored.made.experiment.axes.items() if len(choices) > 1]
    few = "An effect is the difference between two choices: this experiment varies nothing." if not varied else ""
    found.ask("effects", lambda: _effects(scored, told.get("effects")), few or "No two trials differ in one choice alone.")
    found.ask("heat", lambda: {"heat": _heat(scored)}, "The questions have no kinds, tags or lengths that tell them apart.")
    found.ask("blame", lambda: {"blame": _blame(scored, found.lost)})
    found.ask("headroom", lambda: _headroom(scored), "No part of this trial can be made perfect by itself.")
    silent = "The recommended trial generates no answers: there is nothing to read other contexts for."
    unread = "No controls of this trial were measured: rag sweep runs them where answers are generated and scored."
    generates = scored.trials[0].ends.generate is not None
    found.ask("controls", lambda: {"controls": _controls(scored, told.get("controls"))}, unread if generates else silent)
    unchecked = (
        "No check or guard looked at an answer: check=[citations,numbers] and guard=[scan] are some." if generates else ""
    )
    found.ask("found", lambda: {"found": _found(scored)}, unchecked or "No answers were generated.")
    found.ask("judges", lambda: {"judges": judges(scored.made, scored.store, scored.trials[0])}, UNJUDGED)
    found.ask("audit", lambda: {"audit": _audit(scored)}, "No index here searches approximately: there is nothing to audit.")
    return found


def _effects(scored: Scored, told: Mapping[str, Any] | None) -> dict[str, Any]:
    """Effects as the sweep told them, or looked at now; of pairs of choices only those that are significant."""
    found = told or _effects_now(scored)
    if not found or not found["effects"]:
        return {"effects": ()}
    single = tuple(_factor(one, one["reference"]) for one in found["effects"])
    sure = [one for one in found["interactions"] if one["p_adjusted"] is not None and one["p_adjusted"] <= ALPHA]
    both = tuple(_factor(one, "their sum", f"{one['other_axis']} {one['other_choice']}") for one in sure)
    return {"effects": single, "interactions": both, "effects_sentence": f"{found['sentence']}."}


def _effects_now(scored: Scored) -> Mapping[str, Any] | None:
    if scored.objective.measured:
        return None
    axes = {axis: [choice.label for choice in choices] for axis, choices in scored.made.experiment.axes.items()}
    pairs = [(trial.trial.choices, values) for trial, values in zip(scored.trials, scored.table.T, strict=True)]
    return effects.choice_effects([pair for pair in pairs if pair[0].keys() >= axes.keys()], scored.cluster, axes).to_json()


def _factor(one: Mapping[str, Any], reference: str, other: str = "") -> Factor:
    p = math.nan if one["p_adjusted"] is None else float(one["p_adjusted"])
    return Factor(one["axis"], one["choice"], reference, _mean(one), p, other)


def _heat(scored: Scored) -> Heat | None:
    golden = scored.trials[0].golden
    parts = list(slices.slices_along(golden, DIMENSIONS))
    table, cluster = scored.table, scored.cluster
    # Unanswerable questions have no retrieval score, and a dimension with one value is the whole set under another name.
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
    sizes = tuple(int(count) for count in n.max(axis=1))
    ids, names = tuple(trial.trial_id for trial in scored.trials), tuple(part.name for part in parts)
    return Heat(ids, names, sizes, tuple(map(tuple, believed.T.tolist())))


def _part(table: Floats, cluster: NDArray[np.int64], members: NDArray[np.bool_]) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Means, their standard errors and the number of questions of one slice, by trial."""
    values = table[members]
    known = ~np.isnan(values)
    n = known.sum(axis=0)
    groups = int(cluster.max(initial=0)) + 1
    sums = resampling.by_cluster(np.where(known, values, 0.0), cluster[members], groups)
    counts = resampling.by_cluster(known.astype(np.float64), cluster[members], groups)
    means = np.divide(sums.sum(axis=0), n, out=np.full(len(n), np.nan), where=n > 0)
    return means, resampling.standard_error(sums, counts), n


def _blame(scored: Scored, lost: dict[str, dict[str, int]]) -> Blame:
    reader = blame.Reader(scored.made, scored.store)
    counts = []
    for trial in scored.trials:
        wrong = blame.wrong(trial, scored.made, scored.store)
        found = blame.lost_questions(trial, scored.made, scored.store, wrong=wrong, reader=reader)
        lost[trial.trial_id] = {one.query_id: blame.STAGES.index(one.stage) + 1 for one in found}
        counts.append(tuple(blame.counts(found).values()))
    ids = tuple(trial.trial_id for trial in scored.trials)
    answerable = sum(bool(example.evidence) for example in scored.trials[0].golden.examples)
    return Blame(blame.STAGES, ids, tuple(counts), answerable)


def _headroom(scored: Scored) -> dict[str, Any]:
    found = headroom.measure_headroom(scored.trials[0], scored.made, scored.store, scored.column)
    gains = tuple(Gain(one.part, Mean(one.mean, one.low, one.high)) for one in found)
    return {"headroom": gains, "headroom_sentence": headroom.sentence(found)}


def _controls(scored: Scored, told: Sequence[Mapping[str, Any]] | None) -> Listing | None:
    """The controls of the recommended trial as its sweep measured them: a report runs nothing that may cost money."""
    if not told:
        return None
    columns, names = (tuple(dict.fromkeys(one[key] for one in told)) for key in ("column", "name"))
    cells = {(one["name"], one["column"]): _told(one) for one in told}
    lines = [Line(name.replace("_", " "), tuple(cells.get((name, column), "–") for column in columns)) for name in names]
    sentence = f"Answers of {scored.trials[0].trial.name}, and of its generator with other contexts than those that it found."
    return Listing(columns, tuple(lines), sentence)


def _told(one: Mapping[str, Any]) -> str:
    if one.get("error"):
        return "failed"
    own, apart = _mean(one, "mean", "mean_low", "mean_high"), _mean(one, "difference", "low", "high")
    return interval(own) if math.isnan(apart.mean) else f"{number(own.mean)} ({difference(apart)})"


def _mean(one: Mapping[str, Any], *names: str) -> Mean:
    mean, low, high = (math.nan if one.get(part) is None else float(one[part]) for part in names or ("mean", "low", "high"))
    return Mean(mean, low, high)


def _audit(scored: Scored) -> Listing | None:
    """Vector indexes that are not exact, each once; the first trial that uses one stands for all."""
    found: dict[str, ann_audit.Audit] = {}
    seen: set[str] = set()
    for trial in scored.trials[:MOST_AUDITED]:
        keys = set(trial.ends.indexes.values()) - seen
        seen |= keys
        for one in ann_audit.audit_indexes(trial, scored.made, scored.store, scored.column) if keys else ():
            found.setdefault(f"{one.index} ({one.kind}, {one.chunks} chunks)", one)
    approximate = {name: one for name, one in found.items() if "flat" not in one.kind.lower()}
    if not approximate:
        return None
    heads = ("neighbours of exact search found", "gold lost by the index", "gold lost by the embedder")
    lines = [
        Line(
            name,
            (
                number(one.overlap_at_k),
                difference(Mean(one.recall.lost, one.recall.low, one.recall.high)),
                number(one.embedder_lost),
            ),
        )
        for name, one in approximate.items()
    ]
    return Listing(heads, tuple(lines))


def _found(scored: Scored) -> Listing | None:
    """What checks and guards found in the answers of every trial."""
    tallies = finding_counts.count_findings(scored.made, scored.store)
    sources = list(dict.fromkeys(source for tally in tallies for source in tally.fired))
    lines = [
        Line(
            tally.name,
            (
                f"{tally.declined} of {tally.questions}",
                *(finding_counts.in_words(tally.fired[source]) if source in tally.fired else "" for source in sources),
            ),
        )
        for tally in tallies
    ]
    return Listing(("declined", *sources), tuple(lines)) if sources else None
