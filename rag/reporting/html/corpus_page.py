"""Documents and chunks as one HTML file that opens from a disk, in the form of the report of a sweep."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rag.analysis.corpus_view import WHOLE, CorpusView, SeenDocument
from rag.analysis.text_flags import FLAGS, OF_CHUNKS
from rag.core.files import replace_text
from rag.core.types import BLOCKS, FATES
from rag.pipeline.shapes.document_records import by_document
from rag.reporting.html import page
from rag.reporting.html.embedded_data import BUDGET, block, chunk_values

LONGEST, SHARD = 400_000, 300_000
"""The most characters of a document in a page, and about how many characters are unpacked together."""
DIGITS = 4
MOST_RECORDS = 100
"""The most records of a document in a page."""


def write(view: CorpusView, path: Path, budget: int = BUDGET) -> int:
    """Write the page; return how many documents it names without their texts. OSError if it cannot be written."""
    text, left_out = render(view, budget)
    replace_text(path, text, errors="replace")
    return left_out


def render(view: CorpusView, budget: int = BUDGET) -> tuple[str, int]:
    """Return the page, and the number of documents whose texts are left out to stay within `budget` characters of data."""
    shards, places = _shards(view, budget)
    left_out = len(view.documents) - len(places)
    text = page.page_of(
        "corpus.html",
        ["page.css", "corpus.css"],
        ["common.js", "corpus.js"],
        {"data-index": block(_index(view, places))} | {f"data-shard-{number}": shard for number, shard in enumerate(shards)},
        view=view,
        sums=view.to_json(),
        flags=FLAGS,
        of_chunks=OF_CHUNKS,
        left_out=left_out,
        longest=LONGEST,
    )
    return text, left_out


def _shards(view: CorpusView, budget: int) -> tuple[list[str], dict[int, tuple[int, int]]]:
    """Blocks of the documents that fit, those with gold or flags first, and by row the block and the place in it."""
    documents, records, shards = view.documents, by_document(view.records), list[str]()
    failures = defaultdict[str, list[list[str]]](list)
    for each in view.records.failures:
        failures[each.doc_id].append([each.field, each.why])
    places: dict[int, tuple[int, int]] = {}
    order = sorted(range(len(documents)), key=lambda row: (not documents[row].gold, not documents[row].flags))
    for rows in _groups(documents, order):
        names = [(documents[row], documents[row].document.doc_id) for row in rows]
        kept = [{"records": records.get(name, ())[:MOST_RECORDS], "failures": failures[name]} for _, name in names]
        shard = block([_content(seen) | own for (seen, _), own in zip(names, kept, strict=True)])
        budget -= len(shard)
        if budget < 0:
            break
        places |= {row: (len(shards), number) for number, row in enumerate(rows)}
        shards.append(shard)
    return shards, places


def _groups(documents: Sequence[SeenDocument], order: Sequence[int]) -> Iterator[list[int]]:
    """Rows in their order, in groups of about SHARD characters."""
    group, size = list[int](), 0
    for row in order:
        group.append(row)
        size += len(documents[row].document.text)
        if size > SHARD:
            yield group
            group, size = [], 0
    if group:
        yield group


def _content(seen: SeenDocument) -> dict[str, Any]:
    """All that the page shows of one document; a box is left, top, width and height."""
    document = seen.document
    return {
        "text": document.text[:LONGEST],
        "blocks": [
            [BLOCKS.index(each.kind), each.start, each.end, each.page]
            + [round(value, DIGITS) for l, t, r, b in each.boxes for value in (l, t, r - l, b - t)]  # noqa: E741
            for each in document.blocks
            if each.start < LONGEST
        ],
        "redactions": [[each.start, each.end, each.rule] for each in document.redactions],
        "chunks": [[chunk_values(each) for each in chunks if each.start < LONGEST] for chunks in seen.chunks],
        "gold": [[each.question, each.state, each.rule, each.pieces] for each in seen.gold],
    }


def _index(view: CorpusView, places: dict[int, tuple[int, int]]) -> dict[str, Any]:
    return {
        "kinds": list(BLOCKS),
        "chunkers": list(view.chunkers),
        "questions": [list(question) for question in view.questions],
        "documents": [_entry(seen, places.get(row)) for row, seen in enumerate(view.documents)],
    }


def _entry(seen: SeenDocument, place: tuple[int, int] | None) -> dict[str, Any]:
    """A document in the list of the page; `at` is the place of its content."""
    document = seen.document
    return {
        "name": document.doc_id,
        "characters": len(document.text),
        "pages": seen.pages,
        "blocks": dict(Counter(each.kind for each in document.blocks)),
        "redactions": dict(Counter(each.rule for each in document.redactions)),
        "flags": list(seen.flags),
        "chunks": [len(chunks) for chunks in seen.chunks],
        "flagged": dict(Counter(flag for chunks in seen.chunks for chunk in chunks for flag in chunk.flags)),
        "gold": sorted({gold.question for gold in seen.gold}),
        "unsure": any(gold.state not in (FATES[0], WHOLE) for gold in seen.gold),
        "at": place,
    }
