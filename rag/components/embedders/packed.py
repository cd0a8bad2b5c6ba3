"""Many texts at once through a BERT of transformers, one after the other, without padding between them.

The matrix products run over the tokens of all texts together, which reads the weights once for all of them; attention runs
text by text. So a text has the same states, to the last bit, in every batch (measured with torch 2.13, with oneDNN and with
MKL). The layers are called here, without transformers' own code around them: for a single text that takes as long as the
products.
"""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

STEPS = ((128, 16), (512, 32), (1 << 62, 256))
"""(rows, multiple): up to so many rows, their number is raised to a multiple. oneDNN keeps some 2 MB of code for every number
of rows, up to a thousand of them, and MKL splits products of 5 to 11 rows by the number of threads, which changes the last bits
of the states (measured with torch 2.13)."""


def prepared(model: Any) -> Any:
    """Change the model so that `states` is fast, and return it: oneDNN does the matrix products, if it is available.

    It takes half the time of MKL on processors of AMD (measured 230 against 100 GFLOP/s on one core).
    """
    import torch

    engine: Any = torch.ops.mkldnn
    known: Any = torch.backends.mkldnn
    if not known.is_available() or not hasattr(engine, "_linear_pointwise") or model.device.type != "cpu":
        return model

    class Linear(torch.nn.Module):
        """A linear layer of oneDNN."""

        def __init__(self, layer: torch.nn.Linear) -> None:
            super().__init__()
            self.weight, self.bias = engine._reorder_linear_weight(layer.weight.detach()), layer.bias.detach()

        def forward(self, rows: Any) -> Any:
            return engine._linear_pointwise(rows, self.weight, self.bias, "none", [], "")

    for parent in list(model.modules()):
        for name, layer in list(parent.named_children()):
            if isinstance(layer, torch.nn.Linear):
                setattr(parent, name, Linear(layer))
    return model


def states(model: Any, ids: Sequence[Sequence[int]]) -> list[NDArray[np.float32]]:
    """The last hidden states of token sequences, shape (tokens, dimensions) each, of a `prepared` model."""
    import torch

    sizes = [len(row) for row in ids]
    # The filling is a text of its own, whose states are not used.
    if filling := _raised(sum(sizes)) - sum(sizes):
        sizes.append(filling)
    tokens = [token for row in ids for token in row] + [0] * filling
    places = [place for size in sizes for place in range(size)]
    with torch.inference_mode():
        known, where = (torch.tensor(values, device=model.device) for values in (tokens, places))
        rows = _walked(model, known, where, sizes).float().cpu().numpy()
    return [rows[end - len(row) : end] for row, end in zip(ids, accumulate(sizes), strict=False)]


def _raised(rows: int) -> int:
    step = next(step for most, step in STEPS if rows <= most)
    return -(-rows // step) * step


def _walked(model: Any, tokens: Any, places: Any, sizes: Sequence[int]) -> Any:
    """The model's last states of tokens at their places in texts of these sizes, shape (tokens, dimensions)."""
    first = model.embeddings
    kinds = first.token_type_embeddings(tokens.new_zeros(tokens.shape))
    rows = first.LayerNorm(first.word_embeddings(tokens) + kinds + first.position_embeddings(places))
    for layer in model.encoder.layer:
        seen, wide = layer.attention, layer.intermediate
        rows = seen.output.LayerNorm(seen.output.dense(_attended(seen.self, rows, sizes)) + rows)
        rows = layer.output.LayerNorm(layer.output.dense(wide.intermediate_act_fn(wide.dense(rows))) + rows)
    return rows


def _attended(attention: Any, rows: Any, sizes: Sequence[int]) -> Any:
    """The attention of every token to the other tokens of its text."""
    import torch
    from torch.nn.functional import scaled_dot_product_attention as attend

    layers = (attention.query, attention.key, attention.value)
    heads = (1, len(rows), attention.num_attention_heads, -1)
    texts = zip(*(layer(rows).view(heads).transpose(1, 2).split(sizes, 2) for layer in layers), strict=True)
    seen = [attend(asked, known, said, scale=attention.scaling) for asked, known, said in texts]
    return torch.cat(seen, 2).transpose(1, 2).reshape(len(rows), -1)
