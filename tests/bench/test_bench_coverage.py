"""How often 95 % intervals hold on real scores, the tied set, and what keeping questions back costs."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from bench.measuring import Report, declared, needs_data, swept
from numpy.typing import NDArray
from scipy import stats

from rag.evaluation.statistics.paired import FEW, family
from rag.evaluation.statistics.resampling import by_cluster, cluster_numbers, effective, standard_error
from rag.evaluation.statistics.summary import interval
from rag.execution.sweep import trial_scores
from rag.execution.sweep.selection.contest import plausible

pytestmark = pytest.mark.bench

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

TRIES, SIZES, CLUSTERS = 300, (20, 30, 50, 100, 300), (5, 10, 30)
ALIKE = 0.5
"""The share of variance that questions of a made-up cluster have in common."""
FIXED = ("index=[bm25s]", "fusion=single", "generator=none", "latency=0", "metrics=[ndcg@10]")
AXES = {
    "chunker": {f"fixed-{size}": f"chunker=fixed chunker.size={size}" for size in (200, 400, 1600)},
    "stems": {"stems": "index.bm25s.analyser=stems", "as written": "index.bm25s.analyser=words"},
    "bm25": {".9/.4": "index.bm25s.k1=0.9 index.bm25s.b=0.4", "1.5/.75": "index.bm25s.k1=1.5 index.bm25s.b=0.75"},
}


@dataclass(frozen=True)
class Population:
    """Scores of all trials on all questions of a set, shape (questions, trials), and the cluster of each question."""

    name: str
    scores: Floats
    cluster: Ints

    def drawn(self, n: int, groups: int, random: np.random.Generator) -> tuple[Ints, Ints, Floats]:
        """Rows of TRIES samples, shape (tries, n), the cluster of each place, and the weight of each question in the truth.

        Clusters are drawn, then questions in them. Where a set has none, a question is that of its cluster with a probability
        that gives ALIKE.
        """
        place = np.arange(n) % groups
        real, count = np.unique(self.cluster, return_counts=True)
        if len(real) == len(self.scores):
            own = random.integers(0, len(self.scores), (TRIES, n))
            common = random.integers(0, len(self.scores), (TRIES, groups))[:, place]
            rows = np.where(random.random((TRIES, n)) < np.sqrt(ALIKE), common, own)
            return rows if groups < n else common, place, np.full(len(self.scores), 1 / len(self.scores))
        order, first = np.argsort(self.cluster, kind="stable"), np.cumsum(count) - count
        picked = random.integers(0, len(real), (TRIES, groups))[:, place]
        rows = order[first[picked] + np.floor(random.random((TRIES, n)) * count[picked]).astype(np.int64)]
        return rows, place, 1 / (len(real) * count[self.cluster])


def populations(bench: Path) -> Iterator[Population]:
    sets = [(name, "beir", f"dataset.path=${{data}}/beir/{name}") for name in ("cranfield", "hotpotqa-200", "scifact-train")]
    sets += [("mtrag-human-179", "beir", "dataset.path=${data}/beir/mtrag-human-179")]
    sets += [("chroma-a", "chroma", "dataset.path=${data}/chroma-a"), ("handbook", "handbook", "k=5")]
    for name, dataset, path in sets:
        done, store = swept(declared(bench / "study.yaml", "Which?", dataset, (*FIXED, path), AXES))
        found = [trial_scores.read_scores(trial, done.plan, store).scores.column("ndcg@10") for trial in done.plan.trials]
        scores, cluster = np.stack(found, axis=1), cluster_numbers(done.plan.trials[0].golden.examples)
        known = ~np.isnan(scores).any(axis=1)
        yield Population(name, scores[known], np.unique(cluster[known], return_inverse=True)[1].astype(np.int64))


def covered(found: Population, n: int, groups: int, random: np.random.Generator) -> tuple[float, float]:
    """How often intervals of a difference of two trials, and of a mean, hold the truth of the population."""
    order = np.argsort(-found.scores.mean(axis=0))
    differences, means = [], []
    for other in (order[len(order) // 2], order[-1]):
        rows, place, weight = found.drawn(n, groups, random)
        values = found.scores[:, other] - found.scores[:, order[0]]
        told = family(values[rows].T, place)
        truth = weight @ values
        differences.append((told.low <= truth + 1e-12) & (truth <= told.high + 1e-12))
        sums = by_cluster(found.scores[rows, other].T, place, groups)
        counts = np.repeat(np.bincount(place, minlength=groups)[:, None], TRIES, axis=1).astype(np.float64)
        low, high = interval(sums.sum(axis=0) / n, standard_error(sums, counts), effective(counts))
        truth = weight @ found.scores[:, other]
        means.append((low <= truth + 1e-12) & (truth <= high + 1e-12))
    return float(np.mean(differences)), float(np.mean(means))


@needs_data
def test_intervals_of_real_scores_hold(bench: Path) -> None:
    columns = ("clusters", *(f"n {n}" for n in SIZES))
    tables = [
        Report(f"95 % intervals of {what} that hold, mean of six sets (lowest set), {2 * TRIES} draws each", columns)
        for what in ("differences", "means")
    ]
    found, random = list(populations(bench)), np.random.default_rng(1)
    for groups in (*CLUSTERS, None):
        cells: list[list[str]] = [[], []]
        for n in SIZES:
            if groups and groups > n:
                [row.append("–") for row in cells]
                continue
            rates = np.array([covered(one, n, groups or n, random) for one in found])
            for row, told in zip(cells, rates.T, strict=True):
                row.append(f"{told.mean():.3f} ({told.min():.3f})")
            assert rates.mean(axis=0).min() >= 0.93 or min(groups or n, n) < FEW
        for table, row in zip(tables, cells, strict=True):
            table.row(str(groups or "n"), *row)
    for table in tables:
        table.note(f"Below {FEW} clusters the sentence under a verdict says that intervals are rough.")
        table.show()


def left_out(values: Floats, cluster: Ints, truly: Floats) -> tuple[float, int]:
    """The share of the truly best trials that the tied set leaves out, and how many it holds."""
    tied = plausible(values, cluster) > 0.05
    tied[values.mean(axis=0).argmax()] = True
    return float(np.mean(~tied[truly >= truly.max() - 1e-9])), int(tied.sum())


@needs_data
def test_the_truly_best_trial_of_real_scores_is_rarely_left_out(bench: Path) -> None:
    columns = ("set", "clusters", "best left out", "tied", "one of equals left out")
    report, random, tries = Report("The tied set on resampled clusters of real scores", columns), np.random.default_rng(2), 60
    for one in populations(bench):
        rows = [np.flatnonzero(one.cluster == name) for name in range(one.cluster.max() + 1)]
        level = one.scores + one.scores.mean(axis=0).max() - one.scores.mean(axis=0)
        for groups in (15, 30, 100):
            told = []
            for _ in range(tries):
                picked = [rows[name] for name in random.integers(0, len(rows), groups)]
                place, cluster = np.concatenate(picked), np.repeat(np.arange(groups), [len(row) for row in picked])
                sides = [left_out(scores[place], cluster, scores.mean(axis=0)) for scores in (one.scores, level)]
                told.append((*sides[0], sides[1][0]))
            out, tied, equal = np.mean(told, axis=0)
            report.row(one.name, groups, float(out), float(tied), float(equal))
            assert max(out, equal) <= stats.binom.ppf(0.999, tries, 0.05) / tries
    report.note("Equals: every trial shifted to the same mean, with its own noise, which is then skewed.")
    report.show()


@needs_data
def test_what_keeping_half_of_the_questions_back_costs(bench: Path) -> None:
    columns = ("questions", "regret, all", "half", "error of what is reported, all", "half", "interval holds, all", "half")
    report, random = (
        Report("Choosing by all questions, or by half and reporting the other half", columns),
        np.random.default_rng(3),
    )
    found = list(populations(bench))
    for n in (20, 30, 50, 100, 200, 300):
        told = np.array([replayed(one.scores, random.integers(0, len(one.scores), n)) for one in found for _ in range(TRIES)])
        report.row(n, *(float(rate) for rate in told.mean(axis=0)))
    report.note("Below 100 questions a dataset without splits is left whole.")
    report.show()


def replayed(scores: Floats, rows: Ints) -> list[float]:
    """Regret, error of the reported mean and whether its interval holds, by choosing on all `rows` and on half of them."""
    half, truth, told = len(rows) // 2, scores.mean(axis=0), []
    for chosen_by, reported_by in ((rows, rows), (rows[:half], rows[half:])):
        taken = int(scores[chosen_by].mean(axis=0).argmax())
        values = scores[reported_by, taken]
        reach = 2 * values.std(ddof=1) / np.sqrt(len(values))
        off = abs(values.mean() - truth[taken])
        told.append((truth.max() - truth[taken], off, float(off <= reach)))
    return [figure for pair in zip(*told, strict=True) for figure in pair]
