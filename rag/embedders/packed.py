"""Many texts at once through a BERT of transformers, one behind the other, without padding between them.

The matrix products run over the tokens of all texts together, which reads the weights once for all of them; attention runs
text by text. So a text has the same states, to the last bit, whatever stands beside it (measured with torch 2.13, with oneDNN
and with MKL).
"""

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

ATTENTION = "assay_packed"
MIN_ROWS = 16
"""Texts of fewer tokens are padded: MKL splits the matrix products of 5 to 11 rows by the number of threads, and the states of
a short text alone then differ in their last bits between one thread and two (measured with torch 2.13)."""
STEPS = ((128, 16), (512, 64), (1 << 62, 256))
"""Up to so many rows, their number is raised to a multiple of so many: oneDNN keeps code of some 2 MB for every number of rows
that it has met, up to a thousand of them."""


def prepared(model: Any) -> Any:
    """A BERT model whose attention stays inside each of the texts that `states` gives it; it is changed, and given back."""
    from transformers import AttentionInterface

    AttentionInterface.register(ATTENTION, _attention)
    model.set_attn_implementation(ATTENTION)
    _laid_out(model)
    return model


def states(model: Any, ids: Sequence[Sequence[int]]) -> list[NDArray[np.float32]]:
    """The last hidden states of token sequences, shape (tokens, dimensions) each, of a model that is `prepared`."""
    import torch

    pieces = [piece for row in ids for piece in (len(row), max(0, MIN_ROWS - len(row)))]
    pieces.append(_raised(sum(pieces)) - sum(pieces))
    tokens, places = [0] * sum(pieces), [0] * sum(pieces)
    ends = list(accumulate(pieces, initial=0))
    for row, start in zip(ids, ends[:-1:2], strict=False):
        tokens[start : start + len(row)], places[start : start + len(row)] = row, range(len(row))
    # What fills up is a text of its own, which nobody reads.
    edges = [(start, end) for start, end in pairwise(ends) if end > start]
    given = {"input_ids": tokens, "position_ids": places}
    with torch.inference_mode():
        tensors = {name: torch.tensor([values], device=model.device) for name, values in given.items()}
        everything = torch.ones(1, 1, 1, 1, dtype=torch.bool, device=model.device)  # edges are the mask
        rows = model(**tensors, attention_mask=everything, edges=edges).last_hidden_state[0].float().cpu().numpy()
    return [rows[start : start + len(row)] for row, start in zip(ids, ends[:-1:2], strict=False)]


def _raised(rows: int) -> int:
    step = next(step for most, step in STEPS if rows <= most)
    return -(-rows // step) * step


def _attention(
    module: Any, query: Any, key: Any, value: Any, mask: Any, *, edges: Sequence[tuple[int, int]], scaling: float, **_: Any
) -> tuple[Any, None]:
    """Attention as transformers asks for it, from each text to itself."""
    import torch
    from torch.nn.functional import scaled_dot_product_attention as attend

    texts = (tuple(tensor[:, :, start:end] for tensor in (query, key, value)) for start, end in edges)
    seen = [attend(asked, known, said, scale=scaling) for asked, known, said in texts]
    return torch.cat(seen, 2).transpose(1, 2), None


def _laid_out(model: Any) -> None:
    """Have oneDNN do the matrix products, weights laid out for it once, where it is there.

    It takes half the time of MKL on processors of AMD (measured 230 against 100 GFLOP/s on one core).
    """
    import torch

    engine: Any = torch.ops.mkldnn
    known: Any = torch.backends.mkldnn
    if not known.is_available() or not hasattr(engine, "_linear_pointwise") or model.device.type != "cpu":
        return

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
