"""Chunks and spans on a line of characters: which of them share characters, and how many."""

import numpy as np

from rag.core.arrays import Ints


def shared_chars(first: Ints, last: Ints, span: Ints, start: Ints, end: Ints) -> tuple[Ints, Ints, Ints]:
    """Spans and chunks that may share characters, each pair once: number of the span, row of the chunk, shared characters.

    Chunks are [first, last) on a line of characters, the places of the spans numbered `span` are [start, end).
    """
    order = np.argsort(first, kind="stable")
    # The running maximum makes the ends ascend even if chunks are nested: a superset, in which further chunks share nothing.
    reach = np.maximum.accumulate(last[order])
    place, row = ranges(np.searchsorted(reach, start, "right"), np.searchsorted(first[order], end))
    chunk = order[row]
    found, pair = np.unique(span[place] * len(order) + chunk, return_inverse=True)
    common = np.minimum(last[chunk], end[place]) - np.maximum(first[chunk], start[place])
    shared = np.bincount(pair, np.maximum(common, 0), len(found)).astype(np.int64)
    number, chunk = np.divmod(found, max(len(order), 1))
    return number, chunk, shared


def ranges(first: Ints, last: Ints) -> tuple[Ints, Ints]:
    """Every integer of every range [first[i], last[i]), as (i, integer)."""
    sizes = np.maximum(last - first, 0)
    owner = np.repeat(np.arange(len(sizes)), sizes)
    return owner, np.arange(len(owner)) + np.repeat(first - (np.cumsum(sizes) - sizes), sizes)
