"""A model's own tokenizer, without the model: only the `tokenizers` library is imported, which takes 0.01 s."""

from pathlib import Path
from typing import Any

from rag.embedders.once import once
from rag.models import readable


@once(kept=8)
def tokenizer(path: Path) -> Any:
    """The tokenizer of a `tokenizer.json`; it neither cuts nor pads, and threads can share it: nothing changes it later."""
    from tokenizers import Tokenizer

    loaded = Tokenizer.from_file(str(path))
    loaded.no_truncation()
    loaded.no_padding()
    return loaded


def offsets(path: Path, text: str) -> list[tuple[int, int]]:
    """The characters [start, end) of every token, in reading order, special tokens left out."""
    return list(tokenizer(path).encode(readable(text), add_special_tokens=False).offsets)
