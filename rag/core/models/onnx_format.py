"""An ONNX model as bytes: the few messages of its protocol-buffer format that our graphs need.

Field numbers are those of `onnx.proto`, github.com/onnx/onnx, IR version 10. The `onnx` package would add 33 MB to an
installation that only runs models.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

IR_VERSION, OPSET = 10, 20
TYPES = {"float32": 1, "uint8": 2, "int8": 3, "int32": 6, "int64": 7}
"""Numbers of element types."""
FLOAT, INT, INTS = 1, 2, 7
"""Numbers of attribute types."""
SMALL = 1024
"""Bytes of an array, such as a shape, that the runtime reads while it optimises the graph."""

Attribute = int | float | Sequence[int]
Part = bytes | memoryview


@dataclass
class Graph:
    """A graph under construction: `add` returns the name of a node's output, `constant` that of an array.

    Arrays of more than `SMALL` bytes go to `apart` by name, and not into the bytes of the model, unless `apart` is None.
    """

    apart: dict[str, NDArray[np.generic]] | None = None
    nodes: list[bytes] = field(default_factory=list)
    arrays: list[list[Part]] = field(default_factory=list)

    def constant(self, values: NDArray[np.generic]) -> str:
        """Add an array of a type in `TYPES`."""
        name, whole = f"constant{len(self.arrays)}", np.ascontiguousarray(values)
        shape = b"".join(_number(1, size) for size in values.shape)
        head = shape + _number(2, TYPES[values.dtype.name]) + _text(8, name)
        if self.apart is None or values.nbytes <= SMALL:
            self.arrays.append([head, *_nested(9, [whole.reshape(-1).view(np.uint8).data])])
        else:
            self.apart[name] = whole
            self.arrays.append([head, _bytes(13, _text(1, "location") + _text(2, "memory")), _number(14, 1)])
        return name

    def integers(self, *values: int) -> str:
        """Add a vector of whole numbers, such as a shape."""
        return self.constant(np.array(values, np.int64))

    def add(self, kind: str, *inputs: str, outputs: int = 1, **attributes: Attribute) -> list[str]:
        """Add a node of the operator `kind`; the names of its outputs."""
        names = [f"value{len(self.nodes)}.{number}" for number in range(outputs)]
        parts = [*(_text(1, name) for name in inputs), *(_text(2, name) for name in names), _text(4, kind)]
        self.nodes.append(b"".join(parts) + b"".join(_bytes(5, _attribute(*item)) for item in attributes.items()))
        return names

    def model(self, inputs: Sequence[str], output: str, shape: Sequence[str], rank: int) -> bytes:
        """The model: int64 `inputs` of the symbolic `shape`, and one float output of `rank` dimensions."""
        graph: list[Part] = [*(_bytes(1, node) for node in self.nodes), _text(2, "model")]
        graph += [part for array in self.arrays for part in _nested(5, array)]
        graph += [_bytes(11, _value(name, "int64", shape)) for name in inputs]
        graph.append(_bytes(12, _value(output, "float32", [f"size{place}" for place in range(rank)])))
        # Joined once: the weights are copied once.
        return b"".join([_number(1, IR_VERSION), *_nested(7, graph), _bytes(8, _text(1, "") + _number(2, OPSET))])


def _attribute(name: str, value: Attribute) -> bytes:
    if isinstance(value, float):
        return _text(1, name) + _key(2, 5) + struct.pack("<f", value) + _number(20, FLOAT)
    if isinstance(value, int):
        return _text(1, name) + _number(3, value) + _number(20, INT)
    return _text(1, name) + b"".join(_number(8, one) for one in value) + _number(20, INTS)


def _value(name: str, kind: str, shape: Sequence[str]) -> bytes:
    sizes = b"".join(_bytes(1, _text(2, size)) for size in shape)
    return _text(1, name) + _bytes(2, _bytes(1, _number(1, TYPES[kind]) + _bytes(2, sizes)))


def _text(place: int, value: str) -> bytes:
    return _bytes(place, value.encode())


def _nested(place: int, parts: Sequence[Part]) -> list[Part]:
    return [_key(place, 2) + _varint(sum(map(len, parts))), *parts]


def _bytes(place: int, value: bytes) -> bytes:
    return b"".join(_nested(place, [value]))


def _number(place: int, value: int) -> bytes:
    return _key(place, 0) + _varint(value)


def _key(place: int, wire: int) -> bytes:
    return _varint(place << 3 | wire)


def _varint(value: int) -> bytes:
    """Seven bits a byte, the lowest first; negative numbers as 64 bits."""
    value &= (1 << 64) - 1
    parts = bytearray()
    while value > 127:
        parts.append(value & 127 | 128)
        value >>= 7
    return bytes([*parts, value])
