"""Check that the documents, chunks and indexes of an untrusted bundle fit together, before any engine reads them."""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rag.bundle.arrays import arrays_of
from rag.bundle.document_lines import document_of
from rag.bundle.errors import refused
from rag.bundle.layout import CHUNKS, DOCUMENTS
from rag.bundle.strict_parse import lines_of
from rag.core.corpus import Corpus
from rag.core.types import Arrays, Document
from rag.evaluation.data.golden import Golden
from rag.execution.graph.stage_inputs import texts_of

HEAVIEST = 1e6
"""Largest weight of a term: sums of weights stay finite."""


def documents_of(data: bytes, where: str) -> tuple[Document, ...]:
    """The documents of a bundle, sorted by doc_id; BundleError for anything else."""
    here = f"{where}: {DOCUMENTS}"
    documents = tuple(document_of(line, f"{here}:{number}") for number, line in enumerate(lines_of(data, here), 1))
    if not documents:
        raise refused(here, "holds no document")
    for document, following in pairwise(documents):
        if not document.doc_id < following.doc_id:
            raise refused(here, f"has {following.doc_id!r} after {document.doc_id!r}: twice, or out of order")
    return documents


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
    """The arrays of an index over `size` chunks; BundleError for vectors, a size or weights that do not fit these.

    All else is checked by the index that opens the arrays.
    """
    arrays = arrays_of(data, where)
    if "index" in arrays:
        raise refused(f"{where}: index", "is in a library's own format, which is not safe to read", "export it again")
    if "vectors" in arrays:
        vectors, place = arrays["vectors"], f"{where}: vectors"
        if vectors.dtype != np.float32 or vectors.ndim != 2 or len(vectors) != size:
            raise refused(
                place, f"is {vectors.dtype} of shape {vectors.shape}", f"float32, one row for each of {size:,} chunks"
            )
        if vectors.size and max(vectors.max(), -vectors.min()) > 1.001:
            raise refused(place, "holds vectors that are longer than 1")
    if "size" in arrays and arrays["size"].tolist() != [size]:
        raise refused(f"{where}: size", f"is {arrays['size'].tolist()[:3]}", f"there are {size:,} chunks")
    for name in ("weights", "absent"):
        if name in arrays and arrays[name].size and np.abs(arrays[name]).max() > HEAVIEST:
            raise refused(f"{where}: {name}", f"holds weights above {HEAVIEST:,.0f}")
    return arrays
