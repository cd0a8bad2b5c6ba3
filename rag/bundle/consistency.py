"""Documents, chunks and indexes of strangers: whether they fit together, so that no engine is given what it would believe."""

import unicodedata
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag.bundle.arrays import arrays_of
from rag.bundle.errors import refused
from rag.bundle.layout import CHUNKS, DOCUMENTS
from rag.bundle.strict_parse import json_of, lines_of
from rag.core.corpus import Corpus
from rag.core.records import Arrays, Document
from rag.evaluation.data.golden import Golden

NAME_LENGTH = 1024
UNSEEN = ("Cc", "Cs", "Zl", "Zp")
"""Controls, halves of characters, ends of lines; blanks of other scripts are none of them."""
TURNING = "\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
"""What changes the direction of a line."""
HEAVIEST = 1e6
"""The most that a term may weigh: sums of it stay finite."""


def documents_of(data: bytes, where: str) -> tuple[Document, ...]:
    """The documents of a bundle, sorted by doc_id; BundleError for anything else."""
    found = tuple(_documents(data, f"{where}: {DOCUMENTS}"))
    if not found:
        raise refused(f"{where}: {DOCUMENTS}", "holds no document")
    for one, other in pairwise(found):
        if not one.doc_id < other.doc_id:
            raise refused(f"{where}: {DOCUMENTS}", f"has {other.doc_id!r} behind {one.doc_id!r}: twice, or out of order")
    return found


def _documents(data: bytes, where: str) -> Iterator[Document]:
    for number, line in enumerate(lines_of(data, where), 1):
        here = f"{where}:{number}"
        if not isinstance(line, dict) or set(line) != {"doc_id", "text", "metadata"}:
            raise refused(here, "is no document", "doc_id, text and metadata")
        doc_id, text, metadata = line["doc_id"], line["text"], line["metadata"]
        if not isinstance(doc_id, str) or not is_name(doc_id):
            raise refused(here, f"has the doc_id {doc_id!r}", f"1 to {NAME_LENGTH:,} printable characters")
        if not isinstance(text, str) or not is_text(doc_id) or not is_text(text):
            raise refused(here, "has a text that is none")
        known = metadata.items() if isinstance(metadata, dict) else [("", None)]
        if not all(is_text(name) and isinstance(value, str | int | float) for name, value in known):
            raise refused(here, "has metadata that are no texts, numbers, true and false")
        yield Document(doc_id, text, metadata)


def is_name(text: str) -> bool:
    """Whether a text may be a doc_id: a file may be named so, and it cannot write into a terminal or turn a line around."""
    return 0 < len(text) <= NAME_LENGTH and is_seen(text)


def is_seen(text: str) -> bool:
    """Whether a text is as it looks: it holds no control, no half of a character, and nothing that turns a line around."""
    return not any(unicodedata.category(one) in UNSEEN or one in TURNING for one in text if not one.isprintable())


def is_text(text: str) -> bool:
    """Whether a text holds whole characters only."""
    # A lone surrogate cannot be sent to anybody.
    return text.isascii() or not any("\ud800" <= one <= "\udfff" for one in text)


def corpus_of(documents: tuple[Document, ...], data: bytes, digest: str, where: str) -> Corpus:
    """Chunks laid over the documents; BundleError for spans that these do not have, and for documents of another digest."""
    if (found := Golden(documents, ()).corpus_digest) != digest:
        raise refused(f"{where}: {DOCUMENTS}", f"has the digest {found}, and the manifest says {digest}")
    here = f"{where}: {CHUNKS}"
    arrays = arrays_of(data, here)
    if set(arrays) != {"doc", "start", "end"}:
        raise refused(here, f"holds {', '.join(sorted(arrays)) or 'nothing'}", "doc, start and end")
    doc, start, end = (_column(arrays, name, len(arrays["doc"]), here) for name in ("doc", "start", "end"))
    if not len(doc):
        raise refused(here, "holds no chunk")
    lengths = np.array([len(document.text) for document in documents], np.int64)
    if doc.min() < 0 or doc.max() >= len(documents):
        raise refused(here, "names documents that are not there")
    if (start < 0).any() or (start >= end).any() or (end > lengths[doc]).any():
        raise refused(here, "has chunks that their documents do not have")
    if not (np.diff(np.lexsort((end, start, doc))) == 1).all() or _repeats(doc, start, end):
        raise refused(here, "has chunks out of reading order, or one twice")
    return Corpus(documents, doc.astype(np.int32), start, end)


def _column(arrays: Arrays, name: str, size: int, where: str) -> NDArray[np.int64]:
    found = arrays[name]
    if found.ndim != 1 or found.dtype.kind != "i" or len(found) != size:
        raise refused(f"{where}: {name}", f"is {found.dtype} of shape {found.shape}", "one whole number per chunk")
    column: NDArray[np.int64] = found.astype(np.int64)
    return column


def _repeats(*columns: NDArray[np.int64]) -> bool:
    return bool(np.logical_and.reduce([column[1:] == column[:-1] for column in columns]).any())


def index_of(data: bytes, size: int, where: str) -> Arrays:
    """The arrays of an index over `size` chunks. What is common to our indexes is checked here, the rest where they open it."""
    arrays = arrays_of(data, where)
    if "vectors" in arrays:
        _check_vectors(arrays["vectors"], size, f"{where}: vectors")
    if "terms" in arrays:
        _check_postings(arrays, size, where)
    if "index" in arrays:
        raise refused(f"{where}: index", "is an index as a library wrote it, which is not safe to read", "export it again")
    return arrays


def _check_vectors(vectors: NDArray[Any], size: int, where: str) -> None:
    if vectors.dtype != np.float32 or vectors.ndim != 2 or len(vectors) != size:
        raise refused(where, f"is {vectors.dtype} of shape {vectors.shape}", f"float32, one row for each of {size:,} chunks")
    if vectors.size and max(vectors.max(), -vectors.min()) > 1.001:
        raise refused(where, "holds vectors that are longer than 1")


def _check_postings(arrays: Arrays, size: int, where: str) -> None:
    """Raise BundleError for postings that lead out of the corpus."""
    shapes = {name: array.ndim == 1 and array.dtype.kind in kind for name, (array, kind) in _postings(arrays, where).items()}
    if odd := [name for name, fits in shapes.items() if not fits]:
        raise refused(f"{where}: {odd[0]}", f"is {arrays[odd[0]].dtype} of shape {arrays[odd[0]].shape}", "one row of numbers")
    terms, starts, chunks, weights = (
        json_of(arrays["terms"].tobytes(), f"{where}: terms"),
        *(arrays[name] for name in ("starts", "chunks", "weights")),
    )
    if not isinstance(terms, list) or not all(isinstance(term, str) for term in terms) or len(set(terms)) < len(terms):
        raise refused(f"{where}: terms", "is no list of different texts")
    if arrays["size"].tolist() != [size]:
        raise refused(f"{where}: size", f"is {arrays['size'].tolist()[:3]}", f"there are {size:,} chunks")
    if len(starts) != len(terms) + 1 or len(arrays["absent"]) != len(terms) or len(chunks) != len(weights):
        raise refused(where, "has other numbers of terms, places and weights")
    starts = starts.astype(np.int64)
    if starts[0] != 0 or starts[-1] != len(chunks) or (np.diff(starts) < 0).any():
        raise refused(f"{where}: starts", "leads out of the postings")
    if len(chunks) and (chunks.min() < 0 or chunks.max() >= size):
        raise refused(f"{where}: chunks", "leads out of the corpus")
    for name in ("weights", "absent"):
        if arrays[name].size and np.abs(arrays[name]).max() > HEAVIEST:
            raise refused(f"{where}: {name}", f"holds weights above {HEAVIEST:,.0f}")


def _postings(arrays: Arrays, where: str) -> Mapping[str, tuple[NDArray[Any], str]]:
    kinds = {"terms": "u", "starts": "i", "chunks": "i", "weights": "f", "absent": "f", "size": "i"}
    if set(arrays) != set(kinds) or arrays["terms"].dtype != np.uint8:
        raise refused(where, f"holds {', '.join(sorted(arrays))}", ", ".join(kinds))
    return {name: (arrays[name], kind) for name, kind in kinds.items()}
