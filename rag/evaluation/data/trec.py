"""Write TREC run files and judgements for trec_eval (https://trec.nist.gov)."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from rag.core.errors import DataError

TINY = float(np.finfo(np.float32).tiny)

UNWRITABLE = re.compile(r"[ \t\n\r\f\v\0\ud800-\udfff]|^$")
"""Ids that a TREC file cannot hold: ASCII white space separates fields, as in C; other blanks are part of an id."""


def write_run(path: Path, rankings: Mapping[str, Sequence[tuple[str, float]]], tag: str = "assay") -> None:
    """Write `query-id Q0 doc-id rank score tag`, rank from 1, so that trec_eval keeps the given order.

    trec_eval reads scores as 32-bit floats, ignores ranks and orders ties by doc-id. So a score that is not smaller, as a
    32-bit float, than the one before is replaced by the next normal 32-bit float below that one. Raise DataError for ids with
    white space, documents that occur twice in a ranking, and scores that are no finite 32-bit float.
    """
    _check_ids(path, [tag])
    lines = (line for query_id, ranking in rankings.items() for line in _run_lines(path, query_id, ranking, tag))
    _write(path, lines)


def write_qrels(path: Path, qrels: Mapping[str, Mapping[str, int]]) -> None:
    """Write `query-id 0 doc-id grade`; raise DataError for ids with white space. Questions without judgements have no line."""
    for query_id, grades in qrels.items():
        _check_ids(path, [query_id, *grades])
    _write(path, (f"{query_id} 0 {doc_id} {grade}" for query_id, grades in qrels.items() for doc_id, grade in grades.items()))


def _run_lines(path: Path, query_id: str, ranking: Sequence[tuple[str, float]], tag: str) -> Iterator[str]:
    _check_ids(path, [query_id, *(doc_id for doc_id, _ in ranking)])
    if len({doc_id for doc_id, _ in ranking}) < len(ranking):
        raise DataError(str(path), f"a document is ranked twice for {query_id!r}", "rank every document once")
    for rank, ((doc_id, given), score) in enumerate(zip(ranking, _falling(ranking), strict=True), 1):
        if not np.isfinite([_single(given), _single(score)]).all():
            raise DataError(str(path), f"{doc_id!r} scores {given} for {query_id!r}", "use scores that a 32-bit float can hold")
        yield f"{query_id} Q0 {doc_id} {rank} {score!r} {tag}"


def _falling(ranking: Sequence[tuple[str, float]]) -> Iterator[float]:
    before = np.float32(np.inf)
    for _, given in ranking:
        score = float(given)
        if _single(score) >= before:
            score = _below(before)
        before = _single(score)
        yield score


def _below(score: np.float32) -> float:
    with np.errstate(over="ignore"):
        below = float(np.nextafter(score, np.float32(-np.inf)))
    # No denormal numbers: a library compiled with -ffast-math makes the whole process read them as zero.
    if 0 < abs(below) < TINY:
        return 0.0 if score > 0 else -TINY
    return below


def _single(score: float) -> np.float32:
    with np.errstate(over="ignore"):
        return np.float32(score)


def _check_ids(path: Path, ids: Sequence[str]) -> None:
    for name in ids:
        if UNWRITABLE.search(name):
            raise DataError(str(path), f"the id {name!r} is empty or has white space", "TREC files cannot hold it; rename it")


def _write(path: Path, lines: Iterator[str]) -> None:
    text = "".join(f"{line}\n" for line in lines)  # complete before the file is opened, so an error keeps the old file
    path.write_text(text, encoding="utf-8", newline="\n")
