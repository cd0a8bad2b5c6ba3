"""Static vectors: one per word piece, distilled from MiniLM; a text is the mean of its pieces.

Tulkens & van Dongen 2024, "Model2Vec": every word piece goes through the model alone, PCA keeps the first dimensions, and
the smooth inverse frequency of Arora et al. 2017 weighs frequent pieces down, frequencies being taken from Zipf's law. The
result is a folder that model2vec opens. `model2vec.distill` itself needs the package skeletoken to rebuild tokenizers of any
kind; here the tokenizer stays as it is.
"""

import logging
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag.embedders.limits import check_within
from rag.embedders.minilm import DIMENSIONS, MiniLmEmbedder, folder, hidden_states, load
from rag.embedders.once import once
from rag.embedders.tokens import offsets, tokenizer
from rag.errors import ConfigError
from rag.models import readable
from rag.records import Vectors

CLS, SEP = 101, 102
BATCH = 256
"""Word pieces that are encoded together; all have three tokens, so none is padded, and the batches are always the same."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class StaticEmbedder:
    """Vectors of `dimensions` numbers, not normalised, of all word pieces of a text, however long it is.

    The first use distils the model (about 40 s on one core) and keeps it in the folder `cache` under its fingerprint; later
    uses load 16 MB. `sif` is the smoothing a of the weight a / (a + frequency); a smaller one tells rare words further apart.
    """

    dimensions: int = 256
    sif: float = 1e-4
    cache: str = ".rag/models"

    def __post_init__(self) -> None:
        check_within("embedder.dimensions", self.dimensions, 2, DIMENSIONS)
        if not 0 < self.sif < 1:
            raise ConfigError("embedder.sif", f"found {self.sif!r}", "a number between 0 and 1, for example 1e-4")

    def fingerprint(self) -> str:
        """The model that is distilled; how it is distilled stands in the parameters."""
        return MiniLmEmbedder().fingerprint()

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        """The characters [start, end) of every word piece."""
        return offsets(folder() / "tokenizer.json", text)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Shape (texts, dimensions).

        A text without a known word piece gets one small constant vector: a vector of length 0 has no direction, and an index
        that divides by lengths would answer NaN.
        """
        model = _opened(self._stored())
        return np.array([self._vector(model, text) for text in texts], np.float32).reshape(-1, self.dimensions)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """As `embed_documents`."""
        return self.embed_documents(texts)

    def _vector(self, model: Any, text: str) -> Vectors:
        # Not `model.encode`: it changes its tokenizer while it runs, so two threads would meet.
        found = model.tokenizer.encode(readable(text), add_special_tokens=False).ids
        ids = [number for number in found if number != model.unk_token_id]
        mean: Vectors = model.embedding[ids].mean(axis=0) if ids else np.zeros(self.dimensions, np.float32)
        return mean if mean.any() else np.full(self.dimensions, 1e-3, np.float32)

    def _stored(self) -> Path:
        """The folder of the distilled model, made if nobody has made it; processes that ask together wait for one."""
        from filelock import FileLock
        from model2vec.version import __version__

        name = sha256(f"{self.fingerprint()} {__version__} {self.dimensions} {self.sif}".encode()).hexdigest()[:16]
        target = Path(self.cache).absolute() / f"static-{self.dimensions}-{name}"
        if not target.is_dir():
            target.parent.mkdir(parents=True, exist_ok=True)
            with FileLock(f"{target}.lock"):
                if not target.is_dir():
                    _distil(self.dimensions, self.sif, target)
        return target


@once(kept=4)
def _opened(path: Path) -> Any:
    from model2vec import StaticModel

    # Half precision on disk, single in memory: numpy would round a mean of halves to a half.
    return StaticModel.from_pretrained(path, quantize_to="float32", max_length=None)


def _distil(dimensions: int, sif: float, target: Path) -> None:
    from model2vec import StaticModel

    log.info("distilling static vectors from MiniLM, once, into %s", target)
    pieces = tokenizer(folder() / "tokenizer.json")
    kept = word_pieces(pieces)
    # Half precision also hides the last bits, in which matrix products differ between machines.
    table = np.zeros((pieces.get_vocab_size(), dimensions), np.float16)
    table[kept] = principal(_contextual(kept), dimensions) * zipf_weights(len(kept), sif)[:, None]
    config = {"model_type": "model2vec", "architectures": ["StaticModel"], "hidden_dim": dimensions, "seq_length": 1_000_000}
    model = StaticModel(table, pieces, config, normalize=False, max_length=None)
    # Only the holder of the lock writes here; what a killed one left behind is thrown away.
    unfinished = target.with_name(f"{target.name}.part")
    shutil.rmtree(unfinished, ignore_errors=True)
    model.save_pretrained(unfinished)
    for path in unfinished.iterdir():
        with path.open("rb+") as file:
            os.fsync(file.fileno())
    unfinished.rename(target)


def word_pieces(pieces: Any) -> list[int]:
    """The ids of a tokenizer that can stand for text, in the order of the vocabulary: all but [PAD], [unused0] and so on."""
    vocabulary = sorted(pieces.get_vocab().items(), key=lambda entry: entry[1])
    return [number for token, number in vocabulary if not (len(token) > 2 and token[0] == "[" and token[-1] == "]")]


def _contextual(ids: Sequence[int]) -> NDArray[np.float32]:
    import torch

    model, threads = load("cpu", None), torch.get_num_threads()
    batches = (ids[start : start + BATCH] for start in range(0, len(ids), BATCH))
    # Thousands of tiny products: threads that wait for each other make this several times slower on a busy machine.
    torch.set_num_threads(1)
    try:
        return np.array(
            [states.mean(0) for batch in batches for states in hidden_states(model, [[CLS, n, SEP] for n in batch])]
        )
    finally:
        torch.set_num_threads(threads)


def principal(vectors: NDArray[np.float32], dimensions: int) -> NDArray[np.float64]:
    """The first principal components of rows; the sign of each is such that its largest score is positive."""
    centred = vectors.astype(np.float64) - vectors.mean(axis=0, dtype=np.float64)
    _, axes = np.linalg.eigh(centred.T @ centred)
    scores = centred @ axes[:, ::-1][:, :dimensions]
    largest = np.take_along_axis(scores, np.abs(scores).argmax(axis=0)[None, :], axis=0)
    signed: NDArray[np.float64] = scores * np.sign(largest)
    return signed


def zipf_weights(count: int, sif: float) -> NDArray[np.float64]:
    """The weights a / (a + p) of words by rank, where p is proportional to 1 / (1 + rank)."""
    frequencies = 1.0 / np.arange(2, count + 2)
    weights: NDArray[np.float64] = sif / (sif + frequencies / frequencies.sum())
    return weights
