"""Prediction-powered means: what people would say of texts that only a judge has read, given some that both have read.

Angelopoulos et al., "Prediction-Powered Inference", Science 382, 2023: the judge's mean, moved by how far the judge is from
people on the labelled texts; the interval carries the error of both. The judge's mean counts in full (lambda = 1 of the later
PPI++), because a smaller share would pull the answers of one system towards the labels of another. It holds as far as the judge
errs on the texts as it does on the labelled ones.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from rag.evaluation.statistics.agreement import TAIL, Estimate
from rag.evaluation.statistics.resampling import by_cluster, effective, standard_error
from rag.evaluation.statistics.summary import interval

Floats = NDArray[np.float64]
Clusters = Sequence[str] | None


def powered_mean(said: Floats, known: Floats, people: Floats, texts: Clusters = None, labels: Clusters = None) -> Estimate:
    """People's mean of the texts of which a judge says `said`, in [0, 1], with its 95 % interval.

    Of the labelled texts the judge says `known` and people `people`. `texts` and `labels` name the clusters of the two, None
    for texts that are independent. With clusters the judge's mean has the interval of `rag.evaluation.statistics.summary`, the
    judge's error that of Student's t; the distances of their ends add up as squares (Zou and Donner, Statistics in Medicine 27,
    2008). So the interval is never narrower than that of the judge's mean. With fewer than two clusters of either it is NaN.
    """
    moved = people - known
    value = float(said.mean() + moved.mean())
    (below, above), (error, _) = _reaches(said, texts, in_span=True), _reaches(moved, labels)
    ends = value - np.hypot(below, error), value + np.hypot(above, error), value
    low, high, value = (float(np.clip(end, 0.0, 1.0)) for end in ends)
    return Estimate(value, low, high)


def _reaches(values: Floats, clusters: Clusters, in_span: bool = False) -> tuple[float, float]:
    """How far the 95 % interval of a mean reaches below and above it."""
    if clusters is None:
        reach = float(ndtri(1 - TAIL) * values.std() / np.sqrt(len(values)))
        return reach, reach
    names, cluster = np.unique(np.array(clusters, np.str_), return_inverse=True)
    sums, counts = (by_cluster(part[:, None], cluster, len(names)) for part in (values, np.ones(len(values))))
    mean, error, equal = np.array([values.mean()]), standard_error(sums, counts), effective(counts)
    if in_span:
        low, high = interval(mean, error, equal)
        return float(mean[0] - low[0]), float(high[0] - mean[0])
    reach = float(stdtrit(equal[0] - 1, 1 - TAIL) * error[0])
    return reach, reach
