"""Which of the passages that were found fit into a prompt."""

from collections.abc import Sequence
from dataclasses import dataclass

from rag.corpus import Corpus
from rag.records import Chunk


@dataclass(frozen=True)
class Packed:
    """Passages that are read, with the texts that are shown (the last one cut where it had to be), and those without room."""

    read: tuple[tuple[int, float], ...]
    chunks: tuple[Chunk, ...]
    texts: tuple[str, ...]
    left_out: tuple[tuple[int, float], ...] = ()


def pack(hits: Sequence[tuple[int, float]], corpus: Corpus, tokens: int | None) -> Packed:
    """Take passages, best first, group by group: a hit with its neighbours; all of them where `tokens` is None."""
    chunks = tuple(corpus.chunks([position for position, _ in hits]))
    return Packed(tuple(hits), chunks, tuple(chunk.text for chunk in chunks))
