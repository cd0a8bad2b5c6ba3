"""The ONNX graph of a BERT model, from its weights: token numbers in, the last hidden states out.

Devlin et al. 2019, "BERT". The graph is what `transformers.BertModel` computes without padding. With `int8`, the products
with weights are done in whole numbers: weights are rounded once, with a scale for each output, inputs in every product, with a
scale for each token. ONNX's own DynamicQuantizeLinear has one scale for all tokens, and two thirds more error.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag.core.models.onnx_format import TYPES, Graph

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
