"""The share of text that no model reads: the text of chunks beyond a model's window."""

from collections.abc import Mapping, Sequence

from rag.core.corpus import Corpus
from rag.core.errors import UserError
from rag.core.roles import Chunker, PassageText, Windowed
from rag.core.types import Document

COLUMNS: Mapping[str, str] = {"embed": "unread", "rerank": "reranker_unread"}
"""Stages whose model may leave text unread → the column of the share in a leaderboard."""

SAMPLE = 100_000
"""Characters that an estimate reads, about .05 seconds of work."""


def unread(model: object, texts: Sequence[str]) -> float | None:
    """The share of characters at or after the first token beyond the window, over all texts, from 0 to 1.

    None where the model does not say how much it reads.
    """
    if not isinstance(model, Windowed):
        return None
    try:
        most = model.window()
        lost = 0 if most is None else sum(_beyond(model, most, text) for text in texts)
    except UserError:
        return None
    return lost / max(sum(map(len, texts)), 1)


def _beyond(model: Windowed, most: int, text: str) -> int:
    offsets = model.token_offsets(text)
    return len(text) - offsets[most][0] if len(offsets) > most else 0


def expected(model: object, chunker: Chunker, writer: PassageText, documents: Sequence[Document]) -> float | None:
    """`unread` of the chunks of documents before any stage ran, from about SAMPLE characters spread over all of them."""
    if unread(model, ()) is None:
        return None
    some = documents[:: 1 + sum(len(document.text) for document in documents) // SAMPLE]
    try:
        texts = writer.texts(Corpus.of(some, (span for document in some for span in chunker.chunk(document))))
    except UserError:
        return None
    return unread(model, texts[:: 1 + sum(map(len, texts)) // SAMPLE])


def share(measured: Mapping[str, float]) -> float | None:
    """The greatest share that a model of a trial leaves unread; None where no model has a known window."""
    return max((measured[column] for column in COLUMNS.values() if column in measured), default=None)


def percent(value: float) -> str:
    """`25.1 %`, and `< 0.1 %` for little."""
    return "< 0.1 %" if 0 < value < 0.0005 else f"{100 * value:.1f} %"


def remark(shares: Mapping[str, float | None], recommended: str = "") -> str:
    """A sentence on trials, by name, whose models leave text unread; empty where none does."""
    known = {name: value for name, value in shares.items() if value is not None}
    cut = {name: value for name, value in known.items() if value > 0}
    if not cut:
        return ""
    most = max(cut, key=lambda name: cut[name])
    own = f", {percent(known[recommended])} in the recommended trial" if recommended in known else ""
    count = f"In {len(cut)} of {len(shares)} trials chunks are longer than a model's window"
    lost = f"up to {percent(cut[most])} of their characters are not read ({most}){own}"
    return f"{count}: {lost}. embedder=minilm_windows reads them, and so do shorter chunks."
