"""Marks in the place of those parts of a file that a prompt does not show."""

from collections.abc import Sequence

from rag.core.corpus import Corpus
from rag.core.text.tokens import count
from rag.core.types import Chunk

OUTLINE = 4
"""The headings of what is left out take up to a quarter of the tokens of contexts."""
Gap = list[tuple[int, str]] | None
"""The depths and headings of the sections between two parts of a file; None if nothing lies between them."""


def marked(texts: Sequence[str], chunks: Sequence[Chunk], corpus: Corpus, tokens: int) -> tuple[str, ...]:
    """Texts of parts of files, with the headings of what lies before, between and behind them: `[… Pay · Leave …]`.

    Headings take up to `tokens` tokens; the innermost are left out first.
    """
    names, gaps = [chunk.span.doc_id for chunk in chunks], list[tuple[Gap, Gap]]()
    for place, (chunk, name) in enumerate(zip(chunks, names, strict=True)):
        start = chunks[place - 1].span.end if place and names[place - 1] == name else 0
        end = chunk.span.end if names[place + 1 : place + 2] == [name] else None
        gaps.append((_gap(corpus, name, start, chunk.span.start), _gap(corpus, name, chunk.span.end, end)))
    depth = max((depth for pair in gaps for gap in pair for depth, _ in gap or ()), default=0)
    while depth and count(" ".join(_mark(gap, depth) for pair in gaps for gap in pair)) > tokens:
        depth -= 1
    rows = zip(gaps, texts, strict=True)
    return tuple("\n".join(filter(None, (_mark(above, depth), text, _mark(below, depth)))) for (above, below), text in rows)


def _gap(corpus: Corpus, doc_id: str, start: int, end: int | None) -> Gap:
    row = corpus.place(doc_id) or 0
    text = corpus.documents[row].text[start:end]
    if not text.strip():
        return None
    inside = (section for section in corpus.sections[row] if start <= section.start < start + len(text) and section.path)
    return [(section.depth, section.path.rpartition(" > ")[2]) for section in inside]


def _mark(gap: Gap, depth: int) -> str:
    titles = " · ".join(title for level, title in gap or () if level <= depth)
    return "" if gap is None else f"[… {titles} …]" if titles else "[…]"
