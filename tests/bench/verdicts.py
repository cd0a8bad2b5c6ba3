"""How often verdicts and intervals are wrong: on equal trials, on planted losses, and on real scores of six sets."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from bench.measuring import Row, Rows, declared, public, swept
from numpy.typing import NDArray

from rag.evaluation.statistics.paired import family
from rag.evaluation.statistics.resampling import by_cluster, cluster_numbers, effective, standard_error
from rag.evaluation.statistics.summary import interval
from rag.execution.sweep import trial_scores
from rag.execution.sweep.selection.contest import plausible

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

EQUALS, TRIES = 500, 300
SHAPES = {
    "100 questions, each by itself": np.ones(100, np.int64),
    "40 documents of 3": np.full(40, 3),
    "12 documents, one with half": np.r_[44, np.full(11, 4)],
    "8 documents of 10": np.full(8, 10),
    "5 documents of 20": np.full(5, 20),
}
ALIKE = 0.5
"""The share of variance that questions of a made-up cluster have in common."""
FIXED = ("index=[bm25s]", "fusion=single", "generator=none", "latency=0", "metrics=[ndcg@10]")
AXES = {
    "chunker": {f"fixed-{size}": f"chunker=fixed chunker.size={size}" for size in (200, 400, 1600)},
    "stems": {"stems": "index.bm25s.analyser=stems", "as written": "index.bm25s.analyser=words"},
    "bm25": {".9/.4": "index.bm25s.k1=0.9 index.bm25s.b=0.4", "1.5/.75": "index.bm25s.k1=1.5 index.bm25s.b=0.75"},
}


def split(random: np.random.Generator, sizes: Ints) -> tuple[Floats, Ints]:
    """Two equally good trials: 5 metrics, over all and in 3 kinds, 30 % ties; questions of a document go up together."""
    cluster = np.repeat(np.arange(len(sizes)), sizes)
    document, question = random.normal(0, 0.1, (len(sizes), 5))[cluster], random.normal(0, 0.1, (len(cluster), 1))
    metrics = np.clip(document + question + random.normal(0, 0.1, document.shape), -1, 1)
    metrics = np.where(random.random(len(cluster))[:, None] < 0.3, 0.0, np.round(metrics, 1))
    kind = random.integers(0, 3, len(cluster))
    parts = [metrics, *(np.where((kind == number)[:, None], metrics, np.nan) for number in range(3))]
    return np.concatenate(parts, axis=1), cluster


def verdicts(folder: Path) -> Rows:
    """Equal trials that seem different at 5 %, and a loss of five points that is found."""
    random = np.random.default_rng(1)
    for name, sizes in SHAPES.items():
        found = [family(*split(random, sizes)) for _ in range(EQUALS)]
        wrong = [one.significant.any() or (one.corrected_low > 0).any() or (one.corrected_high < 0).any() for one in found]
        alone = float(np.mean([one.p[0] <= 0.05 for one in found]))
        yield Row(f"equals, {name}: family of 20", float(np.mean(wrong)), f"alarms in {EQUALS}", "one metric alone", alone)
    for size in (1, 20):
        shift = np.where(np.arange(size) == 0, -0.05, 0)
        found = [family(random.normal(0, 0.15, (200, size)) + shift, np.arange(200)) for _ in range(100)]
        hits = float(np.mean([bool(one.corrected_high[0] < 0) for one in found]))
        yield Row(f"nDCG@10 lost .05, 200 questions, paired sd .15, family of {size}", hits, "found of 100")


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


def populations() -> Iterator[Population]:
    """Six sets with twelve lexical trials each."""
    beir = ("cranfield", "hotpotqa-200", "scifact-train", "mtrag-human-179")
    sets = [(name, "beir", f"dataset.path={public(f'beir/{name}')}") for name in beir]
    sets += [("chroma-a", "chroma", f"dataset.path={public('chroma-a')}"), ("handbook", "handbook", "k=5")]
    for name, dataset, path in sets:
        done, store = swept(declared(name, dataset, (*FIXED, path), AXES))
        found = [trial_scores.read_scores(trial, done.plan, store).scores.column("ndcg@10") for trial in done.plan.trials]
        scores, cluster = np.stack(found, axis=1), cluster_numbers(done.plan.trials[0].golden.examples)
        known = ~np.isnan(scores).any(axis=1)
        yield Population(name, scores[known], np.unique(cluster[known], return_inverse=True)[1].astype(np.int64))


def covered(found: Population, n: int, groups: int, random: np.random.Generator) -> tuple[float, float]:
    """How often intervals of a difference of two trials, and of a mean, hold the truth of the population."""
    order = np.argsort(-found.scores.mean(axis=0))
    rows, place, weight = found.drawn(n, groups, random)
    values = found.scores[:, order[-1]] - found.scores[:, order[0]]
    told, truth = family(values[rows].T, place), weight @ values
    differences = (told.low <= truth + 1e-12) & (truth <= told.high + 1e-12)
    sums = by_cluster(found.scores[rows, order[-1]].T, place, groups)
    counts = np.repeat(np.bincount(place, minlength=groups)[:, None], TRIES, axis=1).astype(np.float64)
    low, high = interval(sums.sum(axis=0) / n, standard_error(sums, counts), effective(counts))
    truth = weight @ found.scores[:, order[-1]]
    return float(differences.mean()), float(((low <= truth + 1e-12) & (truth <= high + 1e-12)).mean())


def left_out(one: Population, groups: int, random: np.random.Generator) -> tuple[float, float]:
    """How often the truly best trial is left out of the tied set of resampled clusters, and how many trials it holds."""
    rows = [np.flatnonzero(one.cluster == name) for name in range(one.cluster.max() + 1)]
    means, told = one.scores.mean(axis=0), []
    for _ in range(60):
        picked = [rows[name] for name in random.integers(0, len(rows), groups)]
        values = one.scores[np.concatenate(picked)]
        tied = plausible(values, np.repeat(np.arange(groups), [len(row) for row in picked])) > 0.05
        tied[values.mean(axis=0).argmax()] = True
        told.append((np.mean(~tied[means >= means.max() - 1e-9]), tied.sum()))
    return float(np.mean([out for out, _ in told])), float(np.mean([tied for _, tied in told]))


def replayed(scores: Floats, rows: Ints) -> list[float]:
    """Regret, and the error of the reported mean, by choosing on all `rows`; and by half of them, reporting the others."""
    half, truth, told = len(rows) // 2, scores.mean(axis=0), []
    for chosen_by, reported_by in ((rows, rows), (rows[:half], rows[half:])):
        taken = int(scores[chosen_by].mean(axis=0).argmax())
        told += [truth.max() - truth[taken], abs(scores[reported_by, taken].mean() - truth[taken])]
    return told


def intervals(folder: Path) -> Rows:
    """Real nDCG@10: intervals that hold, the truly best trial in the tied set, and what keeping half of the questions costs."""
    found, random = list(populations()), np.random.default_rng(1)
    for groups, n in ((5, 50), (10, 50), (30, 50), (30, 100), (100, 100), (300, 300)):
        rates = np.array([covered(one, n, groups, random) for one in found])
        for what, values in zip(("differences", "means"), rates.T, strict=True):
            note = f"lowest set {values.min():.3f}"
            yield Row(f"95 % intervals of {what}, n {n}, {groups} clusters", float(values.mean()), "hold", "aim", 0.95, note)
    for groups in (15, 30, 100):
        out, tied = np.mean([left_out(one, groups, random) for one in found], axis=0)
        yield Row(f"best trial left out of the tied set, {groups} clusters", float(out), "share", note=f"{tied:.1f} of 12 tied")
    for n in (20, 50, 100, 300):
        told = [replayed(one.scores, random.integers(0, len(one.scores), n)) for one in found for _ in range(TRIES)]
        regret, off, half, half_off = np.mean(told, axis=0)
        note = f"error of what is reported {off:.3f}, with half {half_off:.3f}"
        yield Row(f"choosing by half of {n} questions", float(half), "regret", "by all", float(regret), note)
