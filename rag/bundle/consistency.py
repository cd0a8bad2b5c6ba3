"""Check that the documents, chunks and indexes of an untrusted bundle fit together, before any engine reads them."""

import unicodedata
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag.bundle.arrays import arrays_of
from rag.bundle.block_records import PLACES, places_of
from rag.bundle.errors import refused
from rag.bundle.layout import CHUNKS, DOCUMENTS
from rag.bundle.strict_parse import json_of, lines_of
from rag.core.corpus import Corpus
from rag.core.types import Arrays, Document
from rag.evaluation.data.golden import Golden
from rag.execution.graph.stage_inputs import texts_of

NAME_LENGTH = 1024
INVISIBLE = ("Cc", "Cs", "Zl", "Zp")
"""Unicode categories of controls, surrogates and line ends; blanks of other scripts are allowed."""
DIRECTIONS = "\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
"""Characters that change the direction of a line."""
HEAVIEST = 1e6
"""Largest weight of a term: sums of weights stay finite."""
POSTINGS = {"terms": "u", "starts": "i", "chunks": "i", "weights": "f", "absent": "f", "size": "i"}
"""The arrays of a term index, and the kind of their numbers."""


def documents_of(data: bytes, where: str) -> tuple[Document, ...]:
    """The documents of a bundle, sorted by doc_id; BundleError for anything else."""
    here = f"{where}: {DOCUMENTS}"
    documents = tuple(_documents(data, here))
    if not documents:
        raise refused(here, "holds no document")
    for document, following in pairwise(documents):
        if not document.doc_id < following.doc_id:
            raise refused(here, f"has {following.doc_id!r} after {document.doc_id!r}: twice, or out of order")
    return documents


def _documents(data: bytes, where: str) -> Iterator[Document]:
    for number, line in enumerate(lines_of(data, where), 1):
        here = f"{where}:{number}"
        if not isinstance(line, dict) or set(line) - set(PLACES) != {"doc_id", "text", "metadata"}:
            raise refused(here, "is not a document", "an object with doc_id, text and metadata; blocks, redactions")
        doc_id, text, metadata = line["doc_id"], line["text"], line["metadata"]
        if not isinstance(doc_id, str) or not is_name(doc_id):
            raise refused(here, f"has the doc_id {doc_id!r}", f"1 to {NAME_LENGTH:,} printable characters")
        if not isinstance(text, str) or not is_encodable(text):
            raise refused(here, "has a text that is not valid Unicode")
        known = metadata.items() if isinstance(metadata, dict) else [("", None)]
        if not all(is_encodable(name) and isinstance(value, str | int | float) for name, value in known):
            raise refused(here, "has metadata other than texts, numbers, true and false")
        yield Document(doc_id, text, metadata, *places_of(line, len(text), here))


def is_name(text: str) -> bool:
    """Whether a text may be a doc_id: 1 to `NAME_LENGTH` characters, all visible."""
    return 0 < len(text) <= NAME_LENGTH and is_visible(text)


def is_visible(text: str) -> bool:
    """Whether a text holds no control character, no surrogate, and nothing that changes the direction of a line."""
    return not any(unicodedata.category(char) in INVISIBLE or char in DIRECTIONS for char in text if not char.isprintable())


def is_encodable(text: str) -> bool:
    """Whether a text can be encoded in UTF-8: it holds no lone surrogate."""
    return text.isascii() or not any("\ud800" <= char <= "\udfff" for char in text)


def corpus_of(documents: tuple[Document, ...], data: bytes, digest: str, where: str) -> Corpus:
    """The chunks over the documents; BundleError for spans outside of them, and for documents with another digest."""
    if (actual := Golden(documents, ()).corpus_digest) != digest:
        raise refused(f"{where}: {DOCUMENTS}", f"has the digest {actual}, and the manifest says {digest}")
    here = f"{where}: {CHUNKS}"
    arrays = arrays_of(data, here)
    if set(arrays) - {"indexed", "indexed_end"} != {"doc", "start", "end"}:
        raise refused(here, f"holds {', '.join(sorted(arrays)) or 'nothing'}", "doc, start and end")
    doc, start, end = (_column(arrays, name, len(arrays["doc"]), here) for name in ("doc", "start", "end"))
    if not len(doc):
        raise refused(here, "holds no chunk")
    lengths = np.array([len(document.text) for document in documents], np.int64)
    if doc.min() < 0 or doc.max() >= len(documents):
        raise refused(here, "names documents that are not there")
    if (start < 0).any() or (start >= end).any() or (end > lengths[doc]).any():
        raise refused(here, "has chunks outside of their documents")
    order = np.lexsort((end, start, doc))
    repeats = np.logical_and.reduce([column[1:] == column[:-1] for column in (doc, start, end)])
    if not (np.diff(order) == 1).all() or repeats.any():
        raise refused(here, "has chunks out of reading order, or one twice")
    indexed = _texts({name: array for name, array in arrays.items() if name in ("indexed", "indexed_end")}, here)
    if indexed is not None and len(indexed) != len(doc):
        raise refused(here, f"has {len(indexed)} texts for {len(doc)} chunks")
    return Corpus(documents, doc.astype(np.int32), start, end, indexed)


def _texts(arrays: Arrays, where: str) -> tuple[str, ...] | None:
    """The texts that indexes read, None if there are none; BundleError for arrays that hold no texts."""
    if not arrays:
        return None
    written, ends = (arrays.get(name, np.zeros((1, 1))) for name in ("indexed", "indexed_end"))
    known = written.dtype == np.uint8 and ends.dtype.kind == "i" and written.ndim == ends.ndim == 1
    try:
        size = len(written.tobytes().decode("utf-8")) if known else -1
    except UnicodeDecodeError:
        size = -1
    if size < 0 or (np.diff(ends, prepend=0) < 0).any() or ends[-1:].tolist() != [size]:
        raise refused(where, "holds no valid texts of chunks")
    return texts_of(arrays)


def _column(arrays: Arrays, name: str, size: int, where: str) -> NDArray[np.int64]:
    array = arrays[name]
    if array.ndim != 1 or array.dtype.kind != "i" or len(array) != size:
        raise refused(f"{where}: {name}", f"is {array.dtype} of shape {array.shape}", "one whole number per chunk")
    column: NDArray[np.int64] = array.astype(np.int64)
    return column


def index_of(data: bytes, size: int, where: str) -> Arrays:
    """The arrays of an index over `size` chunks; BundleError for vectors or postings that do not fit these.

    Arrays of other names are checked by the index that opens them.
    """
    arrays = arrays_of(data, where)
    if "vectors" in arrays:
        _check_vectors(arrays["vectors"], size, f"{where}: vectors")
    if "terms" in arrays:
        _check_postings(arrays, size, where)
    if "index" in arrays:
        raise refused(f"{where}: index", "is in a library's own format, which is not safe to read", "export it again")
    return arrays


def _check_vectors(vectors: NDArray[Any], size: int, where: str) -> None:
    if vectors.dtype != np.float32 or vectors.ndim != 2 or len(vectors) != size:
        raise refused(where, f"is {vectors.dtype} of shape {vectors.shape}", f"float32, one row for each of {size:,} chunks")
    if vectors.size and max(vectors.max(), -vectors.min()) > 1.001:
        raise refused(where, "holds vectors that are longer than 1")


def _check_kinds(arrays: Mapping[str, NDArray[Any]], where: str) -> None:
    if set(arrays) != set(POSTINGS) or arrays["terms"].dtype != np.uint8:
        raise refused(where, f"holds {', '.join(sorted(arrays))}", ", ".join(POSTINGS))
    for name, array in arrays.items():
        if array.ndim != 1 or array.dtype.kind not in POSTINGS[name]:
            raise refused(f"{where}: {name}", f"is {array.dtype} of shape {array.shape}", "one row of numbers")


def _check_postings(arrays: Mapping[str, NDArray[Any]], size: int, where: str) -> None:
    _check_kinds(arrays, where)
    starts, chunks, weights = (arrays[name] for name in ("starts", "chunks", "weights"))
    terms = json_of(arrays["terms"].tobytes(), f"{where}: terms")
    if not isinstance(terms, list) or not all(isinstance(term, str) for term in terms) or len(set(terms)) < len(terms):
        raise refused(f"{where}: terms", "is not a list of different texts")
    if arrays["size"].tolist() != [size]:
        raise refused(f"{where}: size", f"is {arrays['size'].tolist()[:3]}", f"there are {size:,} chunks")
    if len(starts) != len(terms) + 1 or len(arrays["absent"]) != len(terms) or len(chunks) != len(weights):
        raise refused(where, "has different numbers of terms, places and weights")
    starts = starts.astype(np.int64)
    if starts[0] != 0 or starts[-1] != len(chunks) or (np.diff(starts) < 0).any():
        raise refused(f"{where}: starts", "leads out of the postings")
    if len(chunks) and (chunks.min() < 0 or chunks.max() >= size):
        raise refused(f"{where}: chunks", "leads out of the corpus")
    for name in ("weights", "absent"):
        if arrays[name].size and np.abs(arrays[name]).max() > HEAVIEST:
            raise refused(f"{where}: {name}", f"holds weights above {HEAVIEST:,.0f}")
