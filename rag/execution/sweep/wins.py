"""Where each choice of an axis is best: every pair of choices compared in every metric, on all questions and on slices.

All differences are one family (`rag.evaluation.statistics.paired`), so all statements hold together.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations, product
from typing import Any, NamedTuple

import numpy as np

from rag.config.stand_ins import MARK, STAND_INS
from rag.core.arrays import Floats, Ints
from rag.core.figures import figure, interval
from rag.core.numbers import jsonable
from rag.evaluation.data.slices import slices_along
from rag.evaluation.statistics.paired import family
from rag.evaluation.statistics.resampling import cluster_numbers
from rag.execution.sweep import trial_scores
from rag.execution.sweep.leaderboard import Row
from rag.execution.sweep.selection import Candidates

SMALLER = ("attack_success",)
"""Metrics of which less is better."""

COSTS = {
    "latency_p50_ms": "{:,.0f} ms for a question (median)",
    "index_bytes": "{:,.0f} bytes of indexes",
    "enrich_tokens": "{:,.0f} tokens for records",
    "tokens": "{:,.0f} tokens for answers",
    "cost_usd": "{:.4f} US dollars",
}
"""Measured values of a trial that are named as its price, with their form; 0 is not named."""


@dataclass(frozen=True)
class Place:
    """A metric on all questions (`slice` is empty) or on a slice; `mean` is that of a choice.

    For a choice that is best alone, `lead` over the next choice `rival` is in [low, high], corrected for the whole family.
    """

    column: str
    slice: str
    mean: float
    rival: str = ""
    lead: float = float("nan")
    low: float = float("nan")
    high: float = float("nan")

    @property
    def where(self) -> str:
        """The metric, with the slice in brackets."""
        return f"{self.column} ({self.slice.partition('=')[2]})" if self.slice else self.column


@dataclass(frozen=True)
class Standing:
    """One choice: where it is shown to be better than all others (`alone`), and where it is among the best.

    `among` are places where no other choice is shown to be better, and one or more are shown to be worse. `told` counts the
    places where it is told apart from another choice. `costs` are means over its trials.
    """

    choice: str
    alone: tuple[Place, ...]
    among: tuple[Place, ...]
    told: int
    costs: Mapping[str, float]

    @property
    def sentence(self) -> str:
        """Where it wins, and its price."""
        best = [f"best in {', '.join(map(_with_lead, self.alone))}"] if self.alone else []
        whole = {place.column for place in self.among if not place.slice}
        shown = [place.where for place in self.among if not place.slice or place.column not in whole]
        best += [f"among the best in {', '.join(shown)}"] if shown else []
        price = ", ".join(form.format(self.costs[name]) for name, form in COSTS.items() if self.costs.get(name))
        beaten = "wins nowhere: where choices are told apart, another one is better"
        nowhere = beaten if self.told else "is not told apart from another"
        said = "; ".join(best) or nowhere
        return f"{self.choice}: {said}.{f' It takes {price}.' if price else ''}"


@dataclass(frozen=True)
class Wins:
    """The standings of all choices of an axis.

    `tested` counts the differences of the family, `equal` the places where no two choices are told apart.
    """

    axis: str
    standings: tuple[Standing, ...]
    tested: int
    places: int
    equal: int

    @property
    def sentences(self) -> tuple[str, ...]:
        """What was compared, then one sentence for each choice."""
        first = (
            f"Where each choice of {self.axis} wins, beyond noise in {self.tested:,} differences that hold together; "
            f"in {self.equal} of {self.places} places (a metric on all questions or on a slice) no two are told apart."
        )
        return first, *(standing.sentence for standing in self.standings)

    def to_json(self) -> dict[str, Any]:
        """The standings as JSON values; None for NaN."""
        return dict(jsonable({"sentences": self.sentences} | asdict(self)))


def _with_lead(place: Place) -> str:
    lead = interval(place.lead, place.low, place.high, signed=True)
    return f"{place.where} {figure(place.mean)}, {lead} before {place.rival}"


class Compared(NamedTuple):
    """Scores of choices in one place, shape (choices, questions); NaN for questions that do not count."""

    column: str
    slice: str
    values: Floats


def find_wins(candidates: Candidates) -> Wins | None:
    """Where each choice of the axis that an experiment names under `wins` is best; None without it, or with one choice.

    A choice has the mean of its trials per question. Trials without scores are left out; questions count where all choices
    have a value.
    """
    named = candidates.made.experiment.wins
    golden, cluster = candidates.goldens[0], cluster_numbers(candidates.goldens[0].examples)
    by_choice = _rows_by_choice(candidates, named["axis"]) if named else {}
    if len(by_choice) < 2:
        return None
    scores = [np.mean([_values(candidates, row) for row in rows], axis=0) for rows in by_choice.values()]
    parts = slices_along(golden, (named.get("by", "kind"),))
    members = {"": np.ones(len(golden.examples), np.bool_)} | {part.name: part.members for part in parts}
    places = []
    for (number, column), (name, inside) in product(enumerate(candidates.board.columns), members.items()):
        table = np.stack([each[:, number] for each in scores])
        counts = inside & ~np.isnan(table).any(axis=0)
        if len(np.unique(cluster[counts])) > 1:
            places.append(Compared(column, name, np.where(counts, table, np.nan)))
    costs = {choice: _costs(rows) for choice, rows in by_choice.items()}
    return standings(named["axis"], costs, places, cluster) if places else None


def _rows_by_choice(candidates: Candidates, axis: str) -> dict[str, list[Row]]:
    """The measured rows of each choice; a choice is marked where something stands in for a part of its preset."""
    found: dict[str, list[Row]] = {}
    for row in sorted(candidates.board.rows, key=lambda row: list(candidates.trials).index(row.trial_id)):
        if row.status == "done" and not row.apart:
            marked = STAND_INS in candidates.trials[row.trial_id].trial.config
            found.setdefault(row.choices[axis] + (MARK if marked else ""), []).append(row)
    return found


def _values(candidates: Candidates, row: Row) -> Floats:
    """Scores of a trial in the columns of the board, NaN for a column that it does not measure."""
    scores = trial_scores.read_scores(candidates.trials[row.trial_id], candidates.made, candidates.store).scores
    empty = np.full(len(scores.query_ids), np.nan)
    columns = (scores.column(name) if name in scores.columns else empty for name in candidates.board.columns)
    return np.column_stack(list(columns))


def standings(axis: str, costs: Mapping[str, Mapping[str, float]], places: Sequence[Compared], cluster: Ints) -> Wins:
    """The standings of the choices in `costs`, in their order; `cluster` numbers the clusters of the questions from 0."""
    names = list(costs)
    pairs = list(combinations(range(len(names)), 2))
    signs = [-1.0 if place.column in SMALLER else 1.0 for place in places]
    apart = [sign * (at.values[one] - at.values[other]) for at, sign in zip(places, signs, strict=True) for one, other in pairs]
    found = family(np.column_stack(apart), cluster)
    alone: list[list[Place]] = [[] for _ in names]
    among: list[list[Place]] = [[] for _ in names]
    equal, told = 0, np.zeros(len(names), np.int64)
    for number, place in enumerate(places):
        better = np.zeros((len(names), len(names)), np.bool_)
        columns = {pair: number * len(pairs) + at for at, pair in enumerate(pairs)}
        for (one, other), column in columns.items():
            if found.significant[column]:
                better[(one, other) if found.mean[column] > 0 else (other, one)] = True
        equal += not better.any()
        told += better.any(axis=0) | better.any(axis=1)
        means = np.nanmean(place.values, axis=1)
        for best in np.flatnonzero(better.any(axis=1) & ~better.any(axis=0)).tolist():
            reached = Place(place.column, place.slice, float(means[best]))
            if better[best].sum() < len(names) - 1:
                among[best].append(reached)
                continue
            rival = max((other for other in range(len(names)) if other != best), key=lambda other: signs[number] * means[other])
            column = columns[min(best, rival), max(best, rival)]
            mean, low, high, _ = found.corrected(column)
            lead = (mean, low, high) if best < rival else (-mean, -high, -low)
            alone[best].append(Place(place.column, place.slice, float(means[best]), names[rival], *lead))
    ranked = (Standing(name, tuple(alone[at]), tuple(among[at]), int(told[at]), costs[name]) for at, name in enumerate(names))
    return Wins(axis, tuple(ranked), len(apart), len(places), equal)


def _costs(rows: Sequence[Row]) -> dict[str, float]:
    """Means of measured values over the trials of a choice that have them."""
    known = {name: [row.measured[name] for row in rows if name in row.measured] for name in COSTS}
    return {name: float(np.mean(values)) for name, values in known.items() if values}
