"""Static vectors: one per word piece, distilled from MiniLM; a text is the mean of its pieces.

Tulkens & van Dongen 2024, "Model2Vec": every word piece goes through the model alone, PCA keeps the first dimensions, and
the smooth inverse frequency of Arora et al. 2017 weighs frequent pieces down, frequencies being taken from Zipf's law.
"""

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rag.components.embedders.minilm import DIMENSIONS, MiniLmEmbedder, load
from rag.core.checks import check_whole
from rag.core.errors import ConfigError
from rag.core.files import locked, replace_file
from rag.core.memo import once
from rag.core.models.pinned import readable
from rag.core.models.tokenizers import minilm_folder, token_offsets, tokenizer
from rag.core.types import Vectors

NEVER_TEXT = re.compile(r"\[(unused\d+|CLS|SEP|MASK)\]")
"""Word pieces that get no vector."""
TOGETHER = 256
"""Word pieces in one call of the model; the last bits of their states depend on it."""
UNRELATED = 0.4

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

    def unrelated(self) -> float | None:
        """0.40 with the default parameters, else None: over six corpora `off_topic` declines 1 of 460 questions by it."""
        usual = self.dimensions == StaticEmbedder.dimensions and self.sif == StaticEmbedder.sif
        return UNRELATED if usual else None

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
        rows = _opened(self._stored())
        return np.array([self._vector(rows, text) for text in texts], np.float32).reshape(-1, self.dimensions)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """The same as `embed_documents`."""
        return self.embed_documents(texts)

    def _vector(self, rows: Vectors, text: str) -> Vectors:
        pieces = rows[tokenizer(minilm_folder() / "tokenizer.json").encode(readable(text), add_special_tokens=False).ids]
        known = pieces[pieces.any(axis=1)]
        return known.mean(axis=0) if len(known) else np.full(self.dimensions, 1e-3, np.float32)

    def _stored(self) -> Path:
        """The file of the distilled model, which the first use creates; other processes wait for it."""
        name = sha256(f"{self.fingerprint()} {self.dimensions} {self.sif}".encode()).hexdigest()[:16]
        target = Path(self.cache).absolute() / f"static-{self.dimensions}-{name}.safetensors"
        if not target.is_file():
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
                with locked(Path(f"{target}.lock")):
                    if not target.is_file():
                        _distil(self.dimensions, self.sif, target)
            except OSError as error:
                what = f"{target} cannot be written or locked ({error.strerror or error})"
                raise ConfigError("embedder.runtime.cache", what, "name a folder on a disk of this machine") from error
        return target


@once(kept=4)
def _opened(path: Path) -> Vectors:
    """One row for each word piece; ConfigError for a file that is damaged."""
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        # Single precision in memory: numpy would round a mean of halves to a half.
        return load_file(path)["rows"].astype(np.float32)
    except (SafetensorError, KeyError) as error:
        raise ConfigError("embedder.runtime.cache", f"{path} is damaged ({error})", "delete it: it is made anew") from error


def _distil(dimensions: int, sif: float, target: Path) -> None:
    from safetensors.numpy import save

    log.info("distilling static vectors from MiniLM, once, into %s", target)
    replace_file(target, save({"rows": distilled(dimensions, sif).astype(np.float16)}))


def distilled(dimensions: int, sif: float) -> NDArray[np.float64]:
    """A row for each word piece of the tokenizer, shape (pieces, dimensions); zeros for those that are never text."""
    pieces = tokenizer(minilm_folder() / "tokenizer.json")
    names = {number: name for name, number in pieces.get_vocab().items()}
    kept = [number for number in sorted(names) if not NEVER_TEXT.fullmatch(names[number])]
    first, last = pieces.token_to_id("[CLS]"), pieces.token_to_id("[SEP]")
    model = load().bert
    batches = (kept[start : start + TOGETHER] for start in range(0, len(kept), TOGETHER))
    means = [model.states([[first, number, last] for number in batch]).mean(axis=1) for batch in batches]
    rows = np.zeros((len(names), dimensions))
    rows[kept] = _first_components(np.concatenate(means).astype(np.float64), dimensions)
    ranks = 1 / np.arange(2, len(kept) + 2)
    rows[kept] *= (sif / (sif + ranks / ranks.sum()))[:, None]
    rows[pieces.token_to_id("[UNK]")] = 0
    return rows


def _first_components(rows: NDArray[np.float64], dimensions: int) -> NDArray[np.float64]:
    """The rows along their directions of greatest variance; unchanged if there are fewer rows than dimensions."""
    if len(rows) <= dimensions:
        return rows[:, :dimensions]
    centred = rows - rows.mean(axis=0)
    directions = np.linalg.eigh(centred.T @ centred)[1][:, ::-1][:, :dimensions]
    # A direction has no sign: the largest number along it is taken as positive.
    places = centred @ directions
    largest = places[np.abs(places).argmax(axis=0), np.arange(dimensions)]
    turned: NDArray[np.float64] = places * np.sign(largest)
    return turned
