"""The ONNX graph of a BERT model, from its weights: token numbers in, the last hidden states out.

Devlin et al. 2019, "BERT". The graph is what `transformers.BertModel` computes without padding. With `int8`, the products
with weights are done in whole numbers: weights are rounded once, with a scale for each output, inputs in every product, with a
scale for each token. Bytes and field numbers are those of `onnx.proto`, github.com/onnx/onnx, IR version 10: the package
`onnx` would add 33 MB. ONNX's own DynamicQuantizeLinear has one scale for all tokens, and two thirds more error.
"""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

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


INPUTS = ("tokens", "kinds")
STEPS = 63
"""The largest weight of an int8 product. With 127, processors without VNNI add two products of 16 bits that do not fit."""
ZERO = 128
"""The whole number that stands for 0 in an input."""

Weights = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class Shape:
    """The sizes of a BERT model, from its `config.json`; KeyError if it does not have one."""

    layers: int
    heads: int
    epsilon: float

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> "Shape":
        """The sizes that a `config.json` names."""
        return cls(config["num_hidden_layers"], config["num_attention_heads"], config["layer_norm_eps"])


def bert_graph(weights: Weights, shape: Shape) -> tuple[bytes, Weights]:
    """An ONNX model: `tokens` and `kinds` (segments), int64 of shape (texts, tokens) → states (texts, tokens, dimensions).

    The arrays are the weights that its bytes only name.
    """
    apart: dict[str, NDArray[Any]] = {}
    return _Bert(Graph(apart), weights, shape, int8=False).model(), apart


def int8_graph(weights: Weights, shape: Shape) -> bytes:
    """The model with rounded weights, all of them in its bytes."""
    return _Bert(Graph(), weights, shape, int8=True).model()


@dataclass(frozen=True)
class _Bert:
    graph: Graph
    weights: Weights
    shape: Shape
    int8: bool

    def model(self) -> bytes:
        rows = self._embedded()
        for number in range(self.shape.layers):
            rows = self._layer(rows, f"encoder.layer.{number}.")
        return self.graph.model(INPUTS, rows, ("texts", "tokens"), 3)

    def _embedded(self) -> str:
        add, words = self.graph.add, "embeddings."
        tables = {
            name: self.graph.constant(self.weights[f"{words}{name}_embeddings.weight"]) for name in ("word", "token_type")
        }
        (known,) = add("Gather", tables["word"], "tokens")
        (kinds,) = add("Gather", tables["token_type"], "kinds")
        (size,) = add("Shape", "tokens", start=1)
        places = self.graph.constant(self.weights[f"{words}position_embeddings.weight"])
        (where,) = add("Slice", places, self.graph.integers(0), size, self.graph.integers(0))
        (named,) = add("Add", known, where)
        return self._normal_sum(named, kinds, f"{words}LayerNorm")

    def _layer(self, rows: str, layer: str) -> str:
        attended = self._product(self._attention(rows, f"{layer}attention.self."), [f"{layer}attention.output.dense"])
        rows = self._normal_sum(attended, rows, f"{layer}attention.output.LayerNorm")
        (wide,) = self.graph.add("Gelu", self._product(rows, [f"{layer}intermediate.dense"]))
        return self._normal_sum(self._product(wide, [f"{layer}output.dense"]), rows, f"{layer}output.LayerNorm")

    def _attention(self, rows: str, layer: str) -> str:
        """Each token's mean of the values of the tokens of its text, weighted by attention."""
        add, heads = self.graph.add, self.shape.heads
        joined = self._product(rows, [f"{layer}{name}" for name in ("query", "key", "value")])
        width = len(self.weights[f"{layer}query.weight"])
        (apart,) = add("Reshape", joined, self.graph.integers(0, 0, 3, heads, width // heads))
        (split,) = add("Transpose", apart, perm=(2, 0, 3, 1, 4))
        queries, keys, values = (
            add("Squeeze", part, self.graph.integers(0))[0] for part in add("Split", split, outputs=3, axis=0, num_outputs=3)
        )
        (turned,) = add("Transpose", keys, perm=(0, 1, 3, 2))
        (raw,) = add("MatMul", queries, turned)
        (scaled,) = add("Mul", raw, self.graph.constant(np.array((width / heads) ** -0.5, np.float32)))
        (shares,) = add("Softmax", scaled, axis=-1)
        (means,) = add("MatMul", shares, values)
        (together,) = add("Transpose", means, perm=(0, 2, 1, 3))
        return add("Reshape", together, self.graph.integers(0, 0, width))[0]

    def _product(self, rows: str, layers: list[str]) -> str:
        """The rows through dense layers, whose outputs are joined."""
        matrix = np.concatenate([self.weights[f"{layer}.weight"] for layer in layers]).T.astype(np.float32)
        bias = self.graph.constant(np.concatenate([self.weights[f"{layer}.bias"] for layer in layers]).astype(np.float32))
        if not self.int8:
            (product,) = self.graph.add("MatMul", rows, self.graph.constant(np.ascontiguousarray(matrix)))
            return self.graph.add("Add", product, bias)[0]
        return self.graph.add("Add", self._whole_product(rows, matrix), bias)[0]

    def _whole_product(self, rows: str, matrix: NDArray[np.float32]) -> str:
        """The rows times a matrix in whole numbers: each row and each column has a scale of its own."""
        add, constant = self.graph.add, self.graph.constant
        columns = np.maximum(np.abs(matrix).max(axis=0), np.float32(1e-12)) / np.float32(STEPS)
        whole = constant(np.ascontiguousarray(np.rint(matrix / columns).astype(np.int8)))
        (largest,) = add("ReduceMax", *add("Abs", rows), self.graph.integers(-1))
        (scale,) = add("Mul", largest, constant(np.array(1 / 127, np.float32)))
        (parts,) = add("Div", rows, scale)
        (shifted,) = add("Add", parts, constant(np.array(ZERO + 0.5, np.float32)))  # casting cuts the fraction off
        (sums,) = add("MatMulInteger", *add("Cast", shifted, to=TYPES["uint8"]), whole, constant(np.array(ZERO, np.uint8)))
        (scaled,) = add("Mul", *add("Cast", sums, to=TYPES["float32"]), scale)
        return add("Mul", scaled, constant(columns))[0]

    def _normal_sum(self, one: str, other: str, layer: str) -> str:
        (rows,) = self.graph.add("Add", one, other)
        scale, bias = (self.graph.constant(self.weights[f"{layer}.{name}"]) for name in ("weight", "bias"))
        return self.graph.add("LayerNormalization", rows, scale, bias, axis=-1, epsilon=float(self.shape.epsilon))[0]
