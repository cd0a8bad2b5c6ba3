"""Static vectors: one per word piece, distilled from MiniLM by model2vec; a text is the mean of its pieces.

Tulkens & van Dongen 2024, "Model2Vec": every word piece goes through the model alone, PCA keeps the first dimensions, and
the smooth inverse frequency of Arora et al. 2017 weighs frequent pieces down, frequencies being taken from Zipf's law.
"""

import logging
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from rag.components.embedders.minilm import DIMENSIONS, MiniLmEmbedder, released
from rag.core.checks import check_whole
from rag.core.errors import ConfigError
from rag.core.files import locked
from rag.core.memo import once
from rag.core.models.pinned import readable
from rag.core.models.tokenizers import minilm_folder, token_offsets
from rag.core.types import Vectors

NEVER_TEXT = r"\[unused\d+\]"
"""Word pieces that get no vector."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class StaticEmbedder:
    """Vectors of `dimensions` numbers, not normalised, of all word pieces of a text, however long it is.

    The first use distils the model (about 30 s of a core) and keeps it in the folder `cache` under its fingerprint; later
    uses load 15 MB. `sif` is the smoothing a of the weight a / (a + frequency); a smaller one tells rare words further apart.
    """

    runtime: ClassVar[tuple[str, ...]] = ("cache",)
    languages: ClassVar[tuple[str, ...]] = ("english",)
    dimensions: int = 256
    sif: float = 1e-4
    cache: str = ".rag/models"

    def __post_init__(self) -> None:
        check_whole("embedder.dimensions", self.dimensions, 2, DIMENSIONS)
        if not 0 < self.sif < 1:
            raise ConfigError("embedder.sif", f"is {self.sif!r}", "a number between 0 and 1, for example 1e-4")

    def fingerprint(self) -> str:
        """The fingerprint of the distilled model; the parameters of the distillation are not part of it."""
        return MiniLmEmbedder().fingerprint()

    def window(self) -> None:
        """None: it reads all word pieces."""

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        """The characters [start, end) of every word piece."""
        return token_offsets(minilm_folder() / "tokenizer.json", text)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Shape (texts, dimensions).

        A text without a known word piece gets one small constant vector: a vector of zeros has no direction, and cosines with
        it would be NaN.
        """
        model = _opened(self._stored())
        return np.array([self._vector(model, text) for text in texts], np.float32).reshape(-1, self.dimensions)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """The same as `embed_documents`."""
        return self.embed_documents(texts)

    def _vector(self, model: Any, text: str) -> Vectors:
        # Not `model.encode`: it changes its tokenizer while it runs, which is not safe with two threads.
        pieces = model.tokenizer.encode(readable(text), add_special_tokens=False).ids
        ids = [number for number in pieces if number != model.unk_token_id]
        mean: Vectors = model.embedding[ids].mean(axis=0) if ids else np.zeros(self.dimensions, np.float32)
        return mean if mean.any() else np.full(self.dimensions, 1e-3, np.float32)

    def _stored(self) -> Path:
        """The folder of the distilled model, which the first use creates; other processes wait for it."""
        from model2vec.version import __version__

        name = sha256(f"{self.fingerprint()} model2vec {__version__} {self.dimensions} {self.sif}".encode()).hexdigest()[:16]
        target = Path(self.cache).absolute() / f"static-{self.dimensions}-{name}"
        if not target.is_dir():
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
                with locked(Path(f"{target}.lock")):
                    if not target.is_dir():
                        _distil(self.dimensions, self.sif, target)
            except OSError as error:
                what = f"{target} cannot be written or locked ({error.strerror or error})"
                raise ConfigError("embedder.runtime.cache", what, "name a folder on a disk of this machine") from error
        return target


@once(kept=4)
def _opened(path: Path) -> Any:
    from model2vec import StaticModel

    # Half precision on disk, single precision in memory: numpy would round a mean of halves to a half.
    model = StaticModel.from_pretrained(path, quantize_to="float32")
    model.tokenizer.no_truncation()
    return model


def _distil(dimensions: int, sif: float, target: Path) -> None:
    log.info("distilling static vectors from MiniLM, once, into %s", target)
    model = distilled(dimensions, sif)
    # Only the process with the lock writes here; files that a killed process left are deleted.
    unfinished = target.with_name(f"{target.name}.part")
    shutil.rmtree(unfinished, ignore_errors=True)
    model.save_pretrained(unfinished)
    for path in unfinished.iterdir():
        with path.open("rb+") as file:
            os.fsync(file.fileno())
    unfinished.rename(target)


def distilled(dimensions: int, sif: float) -> Any:
    """A new `model2vec.StaticModel`, made on one thread: with two, some processors give other last bits."""
    import torch
    from model2vec.distill import distill_from_model
    from transformers import AutoTokenizer

    model = released()
    model.name_or_path = str(minilm_folder())  # any other name would be looked up on the hub
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return distill_from_model(
            model,
            AutoTokenizer.from_pretrained(minilm_folder()),
            device="cpu",
            pca_dims=dimensions,
            sif_coefficient=sif,
            token_remove_pattern=NEVER_TEXT,
        )
    finally:
        torch.set_num_threads(threads)
