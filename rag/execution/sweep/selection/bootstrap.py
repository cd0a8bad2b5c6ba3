"""Means of trials under random weights of clusters: how often each is the best, and how far behind it may be."""

from dataclasses import dataclass

import numpy as np

from rag.core.arrays import Floats, Ints
from rag.evaluation.statistics.out_of_bag import SAME as SAME
from rag.evaluation.statistics.paired import ALPHA
from rag.evaluation.statistics.resampling import AT_ONCE, by_cluster

MOST, LEAST, CELLS = 10_000, 1_000, 5_000_000
"""Draws of a sweep: MOST, fewer where draws times trials would be more than CELLS, never fewer than LEAST."""


@dataclass(frozen=True)
class Draws:
    """The Bayesian bootstrap by cluster (Rubin, The Annals of Statistics 9, 1981); columns are trials.

    `means` has shape (draws, trials). `unseen` is the share of a draw that falls to a question nobody asked, shape (draws,
    trials), or (draws, 1) where all trials have values of the same questions.
    """

    means: Floats
    unseen: Floats

    def best(self) -> Floats:
        """Share of draws in which each trial has the highest mean, shape (trials,), sum 1; equal trials share a draw."""
        first = self.means >= self.means.max(axis=1, keepdims=True) - SAME
        shares: Floats = (first / first.sum(axis=1, keepdims=True)).mean(axis=0)
        return shares

    def at_worst(self, trials: Ints, span: float = 1.0) -> Floats:
        """Lower ends of mean(trial) - max(mean of any trial), shape (len(trials),), which hold together in 95 % of tries.

        The unseen question is lost by `span`, the most that a question can lose. Without it a trial that failed no question
        yet would be taken for one that never does. With one trial, equal clusters and losses of all or nothing the end is
        that of Clopper and Pearson (Gaffke, Mathematical Methods of Statistics 14, 2005). Ranks of draws make the ends of
        several trials hold together (Besag et al., Statistical Science 10, 1995).
        """
        seen = self.means * (1 - self.unseen)
        lost = span * (self.unseen if self.unseen.shape[1] == 1 else self.unseen[:, trials])
        behind = seen[:, trials] - seen.max(axis=1, keepdims=True) - lost
        order = np.argsort(behind, axis=0, kind="stable")
        ranks = np.empty_like(order)
        np.put_along_axis(ranks, order, np.arange(len(order))[:, None], axis=0)
        below = int(np.sort(ranks.min(axis=1))[int(ALPHA * len(order))])
        ends: Floats = np.take_along_axis(behind, order[below : below + 1], axis=0)[0]
        return np.maximum(ends, -span)


def draw(values: Floats, cluster: Ints, seed: int = 0) -> Draws | None:
    """Draw the means of `values`, shape (questions, trials), NaN where a trial has none; the first column is the best trial.

    The unseen question weighs as much as the cluster that it stands for: the design effect of the differences from the best
    (Kish, Survey Sampling, 1965), between one question and the mean size of a cluster. None where a trial has values in fewer
    than two clusters: nothing can be resampled.
    """
    known = ~np.isnan(values)
    groups = int(cluster.max(initial=-1)) + 1
    counts = by_cluster(known.astype(np.float64), cluster, groups)
    inside = counts.any(axis=1)
    counts = counts[inside]
    if not len(counts) or ((counts > 0).sum(axis=0) < 2).any():
        return None
    sums = by_cluster(np.where(known, values, 0.0), cluster, groups)[inside]
    weight = _design_effect(values, cluster, counts)
    alike = counts[:, :1] if (counts == counts[:, :1]).all() else counts
    random = np.random.default_rng([seed, 3])
    draws = int(np.clip(CELLS // values.shape[1], LEAST, MOST))
    means, unseen = np.empty((draws, values.shape[1])), np.empty((draws, alike.shape[1]))
    for first in range(0, draws, AT_ONCE):
        rows = slice(first, min(first + AT_ONCE, draws))
        weights = random.standard_exponential((rows.stop - first, len(sums)))
        other = weight * random.standard_exponential((rows.stop - first, 1))
        total = weights @ alike
        means[rows], unseen[rows] = (weights @ sums) / total, other / (total + other)
    return Draws(means, unseen)


def _design_effect(values: Floats, cluster: Ints, counts: Floats) -> float:
    """The variance of differences summed by cluster against that of single questions, pooled over trials."""
    size = float(counts.sum(axis=0).max() / len(counts))
    differences = values - values[:, :1]
    applies = ~np.isnan(differences)
    if not applies.any():
        return size
    means = np.where(applies, differences, 0.0).sum(axis=0) / np.maximum(applies.sum(axis=0), 1)
    residuals = np.where(applies, differences - means, 0.0)
    alone = float((residuals**2).sum())
    together = float((by_cluster(residuals, cluster, int(cluster.max()) + 1) ** 2).sum())
    return float(np.clip(together / alone, 1.0, size)) if alone > SAME else size
