"""Checks of the arrays of an index: they may come from an untrusted bundle, and libraries in C do not check them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag.core.errors import DataError
from rag.core.types import Arrays, Vectors


def ensure(holds: bool | np.bool_, where: str, what: str) -> None:
    """Raise DataError unless the condition holds."""
    if not holds:
        raise DataError(where, what, "build the index again, or export the bundle again")


def array(arrays: Arrays, where: str, name: str, kind: str, dimensions: int = 1) -> NDArray[Any]:
    """One of the arrays; DataError if it is missing or has another kind ("i" integers, "f" floats) or shape."""
    ensure(name in arrays, where, f"holds no {name!r}")
    values = np.asarray(arrays[name])
    ensure(values.dtype.kind in kind, where, f"holds {name!r} of type {values.dtype}")
    ensure(values.ndim == dimensions, where, f"holds {name!r} of shape {values.shape}")
    return values


def vectors_of(arrays: Arrays, where: str) -> Vectors:
    """Vectors, shape (rows, dimensions), laid out as FAISS reads them; DataError for NaN and infinity."""
    vectors: Vectors = np.ascontiguousarray(array(arrays, where, "vectors", "f", 2), dtype=np.float32)
    ensure(not len(vectors) or vectors.shape[1] > 0, where, "holds 'vectors' without dimensions")
    ensure(np.isfinite(vectors).all(), where, "holds NaN or infinity in 'vectors'")
    return vectors


def numbers_of(arrays: Arrays, where: str, name: str, low: int, high: int) -> NDArray[np.int64]:
    """Whole numbers in [low, high); DataError for others."""
    values = array(arrays, where, name, "iu")
    ensure(not len(values) or (int(values.min()) >= low and int(values.max()) < high), where, f"holds {name!r} out of range")
    return values.astype(np.int64)
