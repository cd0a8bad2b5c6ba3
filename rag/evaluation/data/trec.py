"""TREC run files and judgements, as trec_eval reads and writes them (https://trec.nist.gov)."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from rag.core.errors import DataError

GAP = re.compile(r"[ \t\n\r\f\v]+")
"""What separates fields: ASCII white space, as in C. Other blanks may stand in an id."""

TINY = float(np.finfo(np.float32).tiny)

UNWRITABLE = re.compile(r"[ \t\n\r\f\v\0\ud800-\udfff]|^$")


def write_run(path: Path, rankings: Mapping[str, Sequence[tuple[str, float]]], tag: str = "assay") -> None:
    """Write `query-id Q0 doc-id rank score tag`, rank from 1, so that trec_eval keeps the order that is given.

    trec_eval reads scores as 32-bit floats and ignores ranks; ties it orders by doc-id. A score is therefore written as it
    is where it is smaller, as a 32-bit float, than the one before, and else as the next normal 32-bit float below that one.
    Raise DataError for ids with white space, documents that occur twice in a ranking, and scores no such float can hold.
    """
    _check_ids(path, [tag])
    lines = (line for query_id, ranking in rankings.items() for line in _run_lines(path, query_id, ranking, tag))
    _write(path, lines)


def read_run(path: Path) -> dict[str, list[tuple[str, float]]]:
    """Read rankings in the order that trec_eval gives them: by score as a 32-bit float, ties by doc-id, both descending.

    Raise DataError with `file:line` for lines without six fields, scores that are no finite number, and repeated documents.
    """
    rankings: dict[str, dict[str, float]] = {}
    for where, (query_id, _, doc_id, _, score, _) in _read(path, 6, "query-id Q0 doc-id rank score tag"):
        try:
            value = float(score)
        except ValueError:
            value = float("nan")
        if not np.isfinite(value):
            raise DataError(where, f"the score is {score!r}", "write a finite number")
        ranking = rankings.setdefault(query_id, {})
        if doc_id in ranking:
            raise DataError(where, f"{doc_id!r} is ranked twice for {query_id!r}", "keep one of the two lines")
        ranking[doc_id] = value
    return {query_id: sorted(ranking.items(), key=_order, reverse=True) for query_id, ranking in rankings.items()}


def write_qrels(path: Path, qrels: Mapping[str, Mapping[str, int]]) -> None:
    """Write `query-id 0 doc-id grade`; raise DataError for ids with white space. Questions without judgements leave no line."""
    for query_id, grades in qrels.items():
        _check_ids(path, [query_id, *grades])
    _write(path, (f"{query_id} 0 {doc_id} {grade}" for query_id, grades in qrels.items() for doc_id, grade in grades.items()))


def read_qrels(path: Path) -> dict[str, dict[str, int]]:
    """Read grades by question and document; raise DataError with `file:line` for malformed lines and repeated documents."""
    qrels: dict[str, dict[str, int]] = {}
    for where, (query_id, _, doc_id, grade) in _read(path, 4, "query-id 0 doc-id grade"):
        grades = qrels.setdefault(query_id, {})
        if doc_id in grades:
            raise DataError(where, f"{doc_id!r} is judged twice for {query_id!r}", "keep one of the two lines")
        try:
            grades[doc_id] = int(grade)
        except ValueError as error:
            raise DataError(where, f"the grade is {grade!r}", "write a whole number") from error
    return qrels


def _order(hit: tuple[str, float]) -> tuple[np.float32, bytes]:
    return _single(hit[1]), hit[0].encode("utf-8")


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
    # Denormal numbers are skipped: a library compiled with -ffast-math makes the whole process take them for zero.
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
    text = "".join(f"{line}\n" for line in lines)  # complete before the file is opened: an error leaves the old one
    path.write_text(text, encoding="utf-8", newline="\n")


def _read(path: Path, count: int, form: str) -> Iterator[tuple[str, list[str]]]:
    if not path.is_file():
        raise DataError(str(path), "there is no such file", "check the path")
    with path.open("rb") as lines:
        for number, raw in enumerate(lines, 1):
            where = f"{path}:{number}"
            try:
                fields = [field for field in GAP.split(raw.decode("utf-8")) if field]
            except UnicodeDecodeError as error:
                raise DataError(where, f"is not UTF-8 at byte {error.start} of the line", "save it as UTF-8") from error
            if fields and len(fields) != count:
                raise DataError(where, f"has {len(fields)} fields, not {count}", f"write {form}")
            if fields:
                yield where, fields
