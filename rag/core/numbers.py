"""Means that leave out NaN, values that JSON can hold, and vectors of length 1."""

import math
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Float = TypeVar("Float", np.float32, np.float64)


def mean(values: Iterable[float]) -> float:
    """The mean of the values that are not NaN, added without rounding errors; NaN if there is none."""
    known = [float(value) for value in values if value == value]
    return math.fsum(known) / len(known) if known else math.nan


def finite(value: float) -> float | None:
    """The value; None for NaN and infinity, which JSON cannot hold."""
    return value if math.isfinite(value) else None


def jsonable(value: Any) -> Any:
    """The value as JSON can hold it: NumPy numbers as Python's, NaN and infinity as None, also inside mappings and lists."""
    if isinstance(value, Mapping):
        return {name: jsonable(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [jsonable(part) for part in value]
    if isinstance(value, np.ndarray | np.generic):
        return jsonable(value.tolist())
    return finite(value) if isinstance(value, float) else value


def unit_rows(vectors: NDArray[Float]) -> NDArray[Float]:
    """The rows of a matrix, each scaled to length 1; a row of zeros stays as it is."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: NDArray[Float] = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return unit
