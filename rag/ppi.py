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

from rag.agreement import TAIL, Estimate
from rag.resampling import by_cluster, standard_error

Floats = NDArray[np.float64]
Clusters = Sequence[str] | None


def powered_mean(said: Floats, known: Floats, people: Floats, texts: Clusters = None, labels: Clusters = None) -> Estimate:
    """People's mean of the texts of which a judge says `said`, in [0, 1], with its 95 % interval.

    Of the labelled texts the judge says `known` and people `people`. `texts` and `labels` name the clusters of the two, None
    for texts that are independent. Clusters give the jackknife's errors and the deviate of Student's t (Satterthwaite 1946);
    with fewer than two of either the interval is NaN.
    """
    value = float(said.mean() + (people - known).mean())
    (one, few), (other, many) = _variance(said, texts), _variance(people - known, labels)
    spread = one**2 / few + other**2 / many
    deviate = stdtrit((one + other) ** 2 / spread, 1 - TAIL) if spread > 0 else ndtri(1 - TAIL)
    reach = np.sqrt(one + other) * deviate
    low, high, value = (float(np.clip(end, 0.0, 1.0)) for end in (value - reach, value + reach, value))
    return Estimate(value, low, high)


def _variance(values: Floats, clusters: Clusters) -> tuple[float, float]:
    """The squared standard error of a mean, and its degrees of freedom."""
    if clusters is None:
        return float(values.var() / len(values)), np.inf
    names, cluster = np.unique(np.array(clusters, np.str_), return_inverse=True)
    if len(names) < 2:
        return np.nan, 1.0
    columns = np.stack([values, np.ones(len(values))], axis=1)
    sums, counts = by_cluster(columns, cluster, len(names)).T[:, :, None]
    return float(standard_error(sums, counts)[0] ** 2), len(names) - 1.0
