"""Export the rankings and gold of a sweep in TREC's formats, for trec_eval, ir_measures and ranx."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from rag.core.errors import DataError
from rag.core.types import ALL, Example, document_of
from rag.evaluation.data.golden import Golden
from rag.evaluation.scoring import document_rankings
from rag.execution.graph.plan import Plan, PlannedTrial
from rag.execution.graph.stage_inputs import corpus_of, rankings_of
from rag.execution.store.store import Store


def write_trec(made: Plan, store: Store, folder: Path) -> list[Path]:
    """Write the qrels, and one run of documents per finished trial; return the files, qrels first.

    The grade of a document is the best grade of its evidence. OSError if they cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    qrels = folder / "qrels.txt"
    write_qrels(qrels, {example.query.query_id: grades(example) for example in made.trials[0].golden.examples})
    return [qrels, *(path for trial in made.trials if (path := _write_run(trial, trial.golden, made, store, folder)))]


def grades(example: Example) -> dict[str, int]:
    """The grades of the documents judged for a question; 0 without evidence and where records answer."""
    by_document = dict.fromkeys(sorted(each for each in example.judged if isinstance(each, str) and each != ALL), 0)
    for group in example.evidence if example.route != "records" else ():
        for place in group.alternatives:
            doc_id = document_of(place)
            by_document[doc_id] = max(by_document.get(doc_id, 0), group.grade)
    return by_document


def _write_run(trial: PlannedTrial, golden: Golden, made: Plan, store: Store, folder: Path) -> Path | None:
    ranking = store.read(made.stages[trial.ends.ranking].entry)
    chunks = store.read(made.stages[trial.ends.corpus].entry)
    if ranking is None or chunks is None:
        return None
    rankings = document_rankings(rankings_of(ranking), corpus_of(chunks, golden))
    path = folder / f"{re.sub(r'[^A-Za-z0-9.+-]+', '_', trial.trial.name)}-{trial.trial_id}.run"
    queries = (example.query.query_id for example in golden.examples)
    write_run(path, dict(zip(queries, rankings, strict=True)), tag=trial.trial_id)
    return path


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
