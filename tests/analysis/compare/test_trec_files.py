"""TREC files as trec_eval reads them: order, form and refused input."""

from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rag.analysis.compare.trec_export import write_qrels, write_run
from rag.core.errors import DataError

NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters=" \t\n\r\f\v\0"), min_size=1, max_size=8)
SCORES = st.floats(width=32, min_value=-(2.0**99), max_value=2.0**99, allow_subnormal=False)
RANKINGS = st.dictionaries(NAMES, st.dictionaries(NAMES, SCORES, min_size=1, max_size=8).map(lambda hits: list(hits.items())))
IN_ONE_FOLDER = settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=60)


def fields(path: Path) -> list[list[str]]:
    """The fields of each line; ids may contain blanks other than ASCII white space."""
    return [line.split(" ") for line in path.read_bytes().decode("utf-8").split("\n")[:-1]]


def read_run(path: Path) -> dict[str, list[tuple[str, float]]]:
    """Rankings in the order of the file, which must be that of trec_eval: scores as 32-bit floats fall strictly."""
    lines = [(query_id, (doc_id, float(score))) for query_id, _, doc_id, _, score, _ in fields(path)]
    rankings = {query_id: [hit for _, hit in hits] for query_id, hits in groupby(lines, lambda line: line[0])}
    for hits in rankings.values():
        assert all(np.float32(one[1]) > np.float32(other[1]) for one, other in pairwise(hits))
    return rankings


@IN_ONE_FOLDER
@given(rankings=RANKINGS)
def test_a_run_keeps_its_order_whatever_the_scores(tmp_path: Path, rankings: dict[str, list[tuple[str, float]]]) -> None:
    write_run(tmp_path / "run.txt", rankings)
    order = {query_id: [doc_id for doc_id, _ in hits] for query_id, hits in rankings.items()}
    assert {query_id: [doc_id for doc_id, _ in hits] for query_id, hits in read_run(tmp_path / "run.txt").items()} == order


@IN_ONE_FOLDER
@given(scores=st.lists(SCORES, min_size=1, unique=True))
def test_scores_that_fall_are_written_as_they_are(tmp_path: Path, scores: list[float]) -> None:
    # -0.0 and 0.0 are unique to hypothesis but equal to a float, so compare what is strictly decreasing.
    falling = [score for place, score in enumerate(sorted(scores, reverse=True)) if not place or score != 0.0]
    rankings = {"q": [(f"d{place}", score) for place, score in enumerate(falling)]}
    write_run(tmp_path / "run.txt", rankings)
    assert read_run(tmp_path / "run.txt") == rankings


def test_the_form_of_a_run(tmp_path: Path) -> None:
    write_run(tmp_path / "run.txt", {"q1": [("d2", 2.5), ("d1", 2.5), ("d3", 7)], "q2": [("d1", 0.1)]}, tag="bm25")
    lines = (tmp_path / "run.txt").read_text(encoding="utf-8").splitlines()
    below = np.nextafter(np.float32(2.5), np.float32(0))
    assert lines == [
        "q1 Q0 d2 1 2.5 bm25",
        f"q1 Q0 d1 2 {float(below)!r} bm25",
        f"q1 Q0 d3 3 {float(np.nextafter(below, np.float32(0)))!r} bm25",
        "q2 Q0 d1 1 0.1 bm25",
    ]


def test_ties_at_zero_stay_clear_of_denormal_numbers(tmp_path: Path) -> None:
    tiny = float(np.finfo(np.float32).tiny)
    write_run(tmp_path / "run.txt", {"q": [("a", tiny), ("b", tiny), ("c", tiny), ("d", 0.0)]})
    scores = [score for _, score in read_run(tmp_path / "run.txt")["q"]]
    assert scores == [tiny, 0.0, -tiny, float(np.nextafter(np.float32(-tiny), np.float32(-1)))]


@pytest.mark.parametrize(
    ("ranking", "error"),
    [
        ([("a b", 1.0)], "white space"),
        ([("", 1.0)], "is empty"),
        ([("a\n", 1.0)], "white space"),
        ([("a", 1.0), ("a", 0.5)], "ranked twice"),
        ([("a", float("nan"))], "'a' scores nan"),
        ([("a", float("inf"))], "'a' scores inf"),
        ([("a", float("-inf"))], "'a' scores -inf"),
        ([("a", 1e300)], r"'a' scores 1e\+300"),
        ([("a", float(np.finfo(np.float32).min)), ("b", 1.0)], "'b' scores 1.0"),
    ],
)
def test_what_no_run_can_hold_is_refused_and_the_old_file_stays(tmp_path: Path, ranking: Any, error: str) -> None:
    file = tmp_path / "run.txt"
    file.write_text("old", encoding="utf-8")
    with pytest.raises(DataError, match=error):
        write_run(file, {"fine": [("d", 1.0)], "q": ranking})
    assert file.read_text(encoding="utf-8") == "old"


def test_query_ids_and_tags_are_checked_too(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="white space"):
        write_run(tmp_path / "run.txt", {"q 1": []})
    with pytest.raises(DataError, match="white space"):
        write_run(tmp_path / "run.txt", {}, tag="my run")
    with pytest.raises(DataError, match="white space"):
        write_qrels(tmp_path / "qrels.txt", {"q": {"d 1": 1}})


@IN_ONE_FOLDER
@given(qrels=st.dictionaries(NAMES, st.dictionaries(NAMES, st.integers(-2, 9), min_size=1, max_size=8)))
def test_judgements_come_back(tmp_path: Path, qrels: dict[str, dict[str, int]]) -> None:
    write_qrels(tmp_path / "qrels.txt", qrels)
    lines = [(query_id, doc_id, int(grade)) for query_id, _, doc_id, grade in fields(tmp_path / "qrels.txt")]
    assert lines == [(query_id, doc_id, grade) for query_id, grades in qrels.items() for doc_id, grade in grades.items()]
