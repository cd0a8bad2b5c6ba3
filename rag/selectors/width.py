"""Rankings are as wide as their longest row."""

import numpy as np
from numpy.typing import NDArray

from rag.rankings import NOTHING, Rankings


def narrowed(positions: NDArray[np.int32], scores: NDArray[np.float64]) -> Rankings:
    """Rankings without the columns in which no row has a hit; hits must stand before the fillers of their row."""
    width = int((positions != NOTHING).any(axis=0).sum())
    return Rankings(positions[:, :width], scores[:, :width])
