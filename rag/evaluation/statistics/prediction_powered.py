"""Prediction-powered means: an estimate of people's mean for texts that only a judge has read, from texts that both have read.

Angelopoulos et al., "Prediction-Powered Inference", Science 382, 2023: the judge's mean, corrected by the judge's mean error on
the labelled texts; the interval includes the errors of both. The judge's mean counts in full (lambda = 1 of the later PPI++),
because a smaller weight would pull the answers of one system towards the labels of another. Valid if the judge errs on the
texts as on the labelled ones.
"""

from collections.abc import Sequence

import numpy as np

from rag.core.arrays import Floats
from rag.evaluation.statistics import student
from rag.evaluation.statistics.agreement import TAIL, Estimate
from rag.evaluation.statistics.resampling import by_cluster, effective, standard_error
from rag.evaluation.statistics.summary import interval

Clusters = Sequence[str] | None


def powered_mean(scores: Floats, known: Floats, people: Floats, texts: Clusters = None, labels: Clusters = None) -> Estimate:
    """People's mean for texts that a judge gives these `scores`, in [0, 1], with its 95 % interval.

    On the labelled texts, `known` are the judge's scores and `people` the labels. `texts` and `labels` name the clusters of the
    two sets, None for independent texts. With clusters, the judge's mean has the interval of
    `rag.evaluation.statistics.summary`, the judge's error that of Student's t; the distances of their ends add up as squares
    (Zou and Donner, Statistics in Medicine 27, 2008). The interval is at least as wide as that of the judge's mean, and NaN if
    either set has fewer than two clusters.
    """
    moved = people - known
    value = float(scores.mean() + moved.mean())
    (below, above), (error, _) = _reaches(scores, texts, in_span=True), _reaches(moved, labels)
    ends = value - np.hypot(below, error), value + np.hypot(above, error), value
    low, high, value = (float(np.clip(end, 0.0, 1.0)) for end in ends)
    return Estimate(value, low, high)


def _reaches(values: Floats, clusters: Clusters, in_span: bool = False) -> tuple[float, float]:
    """The distances from a mean to the two ends of its 95 % interval."""
    if clusters is None:
        reach = float(student.normal_quantile(1 - TAIL) * values.std() / np.sqrt(len(values)))
        return reach, reach
    names, cluster = np.unique(np.array(clusters, np.str_), return_inverse=True)
    sums, counts = (by_cluster(part[:, None], cluster, len(names)) for part in (values, np.ones(len(values))))
    mean, error, equal = np.array([values.mean()]), standard_error(sums, counts), effective(counts)
    if in_span:
        low, high = interval(mean, error, equal)
        return float(mean[0] - low[0]), float(high[0] - mean[0])
    reach = float(student.quantile(equal[0] - 1, 1 - TAIL) * error[0])
    return reach, reach
