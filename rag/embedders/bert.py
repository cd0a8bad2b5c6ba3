"""The encoder of BERT by its weights alone (Devlin et al. 2019), for many texts at once without a padded token between them.

The matrix products run over the tokens of all texts together, which reads the weights once for all of them; attention runs
text by text. So a text has the same states, to the last bit, whatever stands beside it (measured with torch 2.13, with oneDNN
and with MKL).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

EPSILON = 1e-12
"""Of every layer normalisation."""
MIN_ROWS = 16
"""Texts of fewer tokens are padded: MKL splits the matrix products of 5 to 11 rows by the number of threads, and the states of
a short text alone then differ in their last bits between one thread and two (measured with torch 2.13)."""
STEPS = ((128, 16), (512, 64), (1 << 62, 256))
"""Up to so many rows, their number is raised to a multiple of so many: oneDNN keeps code of some 2 MB for every number of rows
that it has met, up to a thousand of them."""


def _raised(rows: int) -> int:
    step = next(step for most, step in STEPS if rows <= most)
    return -(-rows // step) * step


@dataclass(frozen=True, eq=False)
class Bert:
    """Weights by the names that they were released under; `heads` of attention in every layer.

    `packed` are those of matrix products as oneDNN lays them out. It takes half the time of MKL on processors of AMD (measured
    230 against 100 GFLOP/s on one core); where it is not there, torch multiplies as it sees fit.
    """

    weights: Mapping[str, Any]
    heads: int
    packed: Mapping[str, Any]

    @classmethod
    def of(cls, weights: Mapping[str, Any], heads: int) -> "Bert":
        """Lay out the weights, shape (outputs, inputs) each, for the processor at hand."""
        import torch

        engine: Any = torch.ops.mkldnn
        known: Any = torch.backends.mkldnn
        here = known.is_available() and hasattr(engine, "_linear_pointwise")
        names = [name for name in weights if name.endswith((".dense.weight", ".query.weight", ".key.weight", ".value.weight"))]
        packed = {name: engine._reorder_linear_weight(weights[name]) for name in names if here and weights[name].is_cpu}
        return cls({name: weight for name, weight in weights.items() if name not in packed}, heads, packed)

    @property
    def layers(self) -> int:
        """How many."""
        return 1 + max(int(name.split(".")[2]) for name in self.weights if name.startswith("encoder.layer."))

    def states(self, ids: Sequence[Sequence[int]]) -> list[NDArray[np.float32]]:
        """The last hidden states of token sequences, shape (tokens, dimensions) each."""
        import torch

        edges = np.cumsum([0, *(max(MIN_ROWS, len(row)) for row in ids)]).tolist()
        with torch.inference_mode():
            found = self._embedded(ids)
            masks = [self._mask(len(row)) for row in ids]
            for number in range(self.layers):
                found = self._layer(f"encoder.layer.{number}", found, edges, masks)
            rows = found.float().cpu().numpy()
        return [rows[start : start + len(row)] for start, row in zip(edges, ids, strict=False)]

    def _embedded(self, ids: Sequence[Sequence[int]]) -> Any:
        import torch

        widths = [max(MIN_ROWS, len(row)) for row in ids]
        widths.append(_raised(sum(widths)) - sum(widths))
        words = self.weights["embeddings.word_embeddings.weight"]
        tokens = [token for row, width in zip([*ids, []], widths, strict=True) for token in [*row, *[0] * (width - len(row))]]
        places = [place for width in widths[:-1] for place in range(width)] + [0] * widths[-1]
        found = words[torch.tensor(tokens, device=words.device)] + self.weights["embeddings.token_type_embeddings.weight"][0]
        found = found + self.weights["embeddings.position_embeddings.weight"][torch.tensor(places, device=words.device)]
        return self._normalised("embeddings.LayerNorm", found)

    def _mask(self, tokens: int) -> Any:
        """Which tokens a text of so many may look at; None where it has no padding."""
        import torch

        if tokens >= MIN_ROWS:
            return None
        kept = torch.arange(MIN_ROWS, device=self.weights["embeddings.LayerNorm.weight"].device) < tokens
        return kept.expand(1, 1, MIN_ROWS, MIN_ROWS)

    def _layer(self, name: str, found: Any, edges: Sequence[int], masks: Sequence[Any]) -> Any:
        from torch.nn.functional import gelu

        seen = self._attention(f"{name}.attention.self", found, edges, masks)
        found = self._normalised(
            f"{name}.attention.output.LayerNorm", self._linear(f"{name}.attention.output.dense", seen) + found
        )
        wide = gelu(self._linear(f"{name}.intermediate.dense", found))
        return self._normalised(f"{name}.output.LayerNorm", self._linear(f"{name}.output.dense", wide) + found)

    def _attention(self, name: str, found: Any, edges: Sequence[int], masks: Sequence[Any]) -> Any:
        import torch
        from torch.nn.functional import scaled_dot_product_attention as attend

        rows, width = found.shape
        parts = [self._linear(f"{name}.{part}", found).view(1, rows, self.heads, -1) for part in ("query", "key", "value")]
        query, key, value = (part.transpose(1, 2) for part in parts)
        pieces = [
            attend(query[:, :, start:end], key[:, :, start:end], value[:, :, start:end], attn_mask=mask)
            for (start, end), mask in zip(pairwise(edges), masks, strict=True)
        ]
        # The rows behind the last text belong to none, and what is in them is not looked at.
        return torch.cat([*(piece.transpose(1, 2).reshape(-1, width) for piece in pieces), found[edges[-1] :]])

    def _linear(self, name: str, found: Any) -> Any:
        import torch

        bias = self.weights[f"{name}.bias"]
        if (packed := self.packed.get(f"{name}.weight")) is not None:
            return torch.ops.mkldnn._linear_pointwise(found, packed, bias, "none", [], "")
        return torch.nn.functional.linear(found, self.weights[f"{name}.weight"], bias)

    def _normalised(self, name: str, found: Any) -> Any:
        from torch.nn.functional import layer_norm

        return layer_norm(found, found.shape[-1:], self.weights[f"{name}.weight"], self.weights[f"{name}.bias"], EPSILON)
