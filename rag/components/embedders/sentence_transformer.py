"""Any model of the sentence-transformers library, from the hub at a pinned revision or from a folder.

Reimers & Gurevych 2019, "Sentence-BERT". Weights are read from safetensors only, and no code of a repository is run.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, ClassVar

import numpy as np

from rag.core.checks import check_whole
from rag.core.errors import ConfigError
from rag.core.memo import once
from rag.core.models.pinned import PinnedComponent, readable
from rag.core.models.sentence_models import load_model
from rag.core.models.tokenizers import token_limit, token_offsets, tokenizer
from rag.core.types import Vectors

TURN = Lock()
"""One thread at a time runs a model: its tokenizer sets padding in every call, and two at once raise "Already borrowed"."""


@dataclass(frozen=True)
class SentenceTransformerEmbedder(PinnedComponent):
    """Encodes with the pooling, the normalisation and the maximum length of the model.

    `model` is a folder or a hub id; a hub id needs a `revision`. The prefixes are added before every text; None takes the
    prompt that the model declares for queries or documents. `batch_size` is 1 because padding changes the last bits of
    vectors, and on a CPU larger batches are not faster; raise it on a GPU. `cache` is the hub's folder, None for its default.
    """

    role: ClassVar[str] = "embedder"
    runtime: ClassVar[tuple[str, ...]] = ("device", "batch_size", "cache")
    model: str
    revision: str | None = None
    query_prefix: str | None = ""
    document_prefix: str | None = ""
    device: str = "cpu"
    batch_size: int = 1
    cache: str | None = None

    def __post_init__(self) -> None:
        check_whole("embedder.runtime.batch_size", self.batch_size, 1)
        self.source  # noqa: B018 - checks the model

    def window(self) -> int | None:
        """The model's maximum length without special tokens and prefix, from its files; ConfigError if they are not fetched."""
        if self.source.here is None:
            raise ConfigError("embedder.model", f"{self.model} is not fetched yet", "embed something with it first")
        limit = token_limit(self.source.folder)
        if limit is None:
            return None
        pieces = tokenizer(self._tokens())
        extra: int = pieces.num_special_tokens_to_add(False) + len(token_offsets(self._tokens(), self._prefix()))
        return max(limit - extra, 0)

    def _prefix(self) -> str:
        """The text before every document."""
        if self.document_prefix is not None:
            return self.document_prefix
        path = self.source.folder / "config_sentence_transformers.json"
        prompts = (json.loads(path.read_text("utf-8")) if path.is_file() else {}).get("prompts") or {}
        return str(next((prompts[name] for name in ("document", "passage", "corpus") if name in prompts), ""))

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        """The characters [start, end) of every token of the model's `tokenizer.json`; ConfigError if it has none."""
        return token_offsets(self._tokens(), text)

    def _tokens(self) -> Path:
        path = self.source.folder / "tokenizer.json"
        if not path.is_file():
            raise ConfigError("embedder.model", f"{self.model} has no tokenizer.json", "cut by words or characters instead")
        return path

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Shape (texts, dimensions of the model)."""
        model = self._loaded()
        return self._encode(model, model.encode_document, texts, self.document_prefix)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Shape (texts, dimensions of the model)."""
        model = self._loaded()
        return self._encode(model, model.encode_query, texts, self.query_prefix)

    def _loaded(self) -> Any:
        return _load(self.source.folder, self.device)

    def _encode(self, model: Any, encode: Any, texts: Sequence[str], prefix: str | None) -> Vectors:
        vectors = np.zeros((len(texts), model.get_embedding_dimension()), np.float32)
        for start in range(0, len(texts), self.batch_size):
            batch = [readable(text) for text in texts[start : start + self.batch_size]]
            with TURN:
                vectors[start : start + len(batch)] = encode(
                    batch, prompt=prefix, batch_size=self.batch_size, show_progress_bar=False
                )
        return vectors


@once(kept=2)
def _load(folder: Path, device: str) -> Any:
    return load_model("embedder", "SentenceTransformer", folder, device)
