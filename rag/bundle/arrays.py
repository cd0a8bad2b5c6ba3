"""Arrays of a bundle as safetensors files: plain numbers, no code, and a header that the library checks against the size."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, deserialize
from safetensors.numpy import save

from rag.bundle.errors import refused
from rag.core.types import Arrays

TYPES = {
    "BOOL": "|b1",
    "I8": "|i1",
    "U8": "|u1",
    **{f"{kind}{8 * size}": f"<{kind.lower()}{size}" for kind in "IUF" for size in (2, 4, 8)},
}
"""Element types that a bundle may hold: name in safetensors → numpy type."""
MOST = 64
"""Most arrays in one file."""


def array_bytes(arrays: Arrays) -> bytes:
    """Arrays as a safetensors file; the same arrays give the same bytes."""
    return save({name: np.asarray(array, order="C") for name, array in arrays.items()})


def arrays_of(data: bytes, where: str) -> Arrays:
    """Read the arrays of a safetensors file; BundleError unless all are finite numbers, and at most `MOST`."""
    try:
        tensors = deserialize(data)  # type: ignore[no-untyped-call]
    except SafetensorError as error:
        raise refused(where, f"is not a valid safetensors file: {error}") from error
    if len(tensors) > MOST:
        raise refused(where, f"holds {len(tensors)} arrays", f"at most {MOST}")
    return {name: _array(tensor, f"{where}: {name}") for name, tensor in tensors}


def _array(tensor: dict[str, Any], where: str) -> NDArray[Any]:
    if tensor["dtype"] not in TYPES:
        raise refused(where, f"has the type {tensor['dtype']}", f"one of {', '.join(TYPES)}")
    flat = np.frombuffer(tensor["data"], TYPES[tensor["dtype"]])
    if flat.dtype == np.bool_ and flat.size and flat.view(np.uint8).max() > 1:
        raise refused(where, "holds truth values other than 0 and 1")
    if flat.dtype.kind == "f" and not np.isfinite(flat).all():
        raise refused(where, "holds NaN or infinity")
    try:
        return flat.reshape(tensor["shape"])
    except ValueError as error:
        raise refused(where, f"has {len(tensor['shape'])} dimensions", "at most 64") from error
