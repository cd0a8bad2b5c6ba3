from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import pytrec_eval
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rag.core.errors import DataError
from rag.evaluation.data.trec import read_qrels, read_run, write_qrels, write_run

NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters=" \t\n\r\f\v\0"), min_size=1, max_size=8)
SCORES = st.floats(width=32, min_value=-(2.0**99), max_value=2.0**99, allow_subnormal=False)
RANKINGS = st.dictionaries(NAMES, st.dictionaries(NAMES, SCORES, min_size=1, max_size=8).map(lambda hits: list(hits.items())))
IN_ONE_FOLDER = settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=60)


@IN_ONE_FOLDER
@given(rankings=RANKINGS)
def test_a_run_keeps_its_order_whatever_the_scores(tmp_path: Path, rankings: dict[str, list[tuple[str, float]]]) -> None:
    write_run(tmp_path / "run.txt", rankings)
    read = read_run(tmp_path / "run.txt")
    assert {q: [doc_id for doc_id, _ in hits] for q, hits in read.items()} == {
        q: [d for d, _ in h] for q, h in rankings.items()
    }
    for hits in read.values():
        singles = [np.float32(score) for _, score in hits]
        assert all(one > other for one, other in pairwise(singles))


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


@pytest.mark.parametrize("scores", [(1.0, 1.0, 1.0), (1.0, 1.0 - 1e-12, 1.0 - 2e-12), (0.0, 0.0, -0.0), (1.0, 2.0, 3.0)])
def test_trec_eval_keeps_our_order(tmp_path: Path, scores: tuple[float, ...]) -> None:
    # By itself trec_eval would put d3 first: it breaks ties by descending name, and it sees 32-bit floats.
    evaluator = pytrec_eval.RelevanceEvaluator({"q": {"d3": 1}}, {"recip_rank"})
    ranking = list(zip(("d1", "d2", "d3"), scores, strict=True))
    assert evaluator.evaluate({"q": dict(ranking)})["q"]["recip_rank"] == 1.0
    write_run(tmp_path / "run.txt", {"q": ranking})
    with (tmp_path / "run.txt").open(encoding="utf-8") as run:
        assert evaluator.evaluate(pytrec_eval.parse_run(run))["q"]["recip_rank"] == pytest.approx(1 / 3)


def test_a_foreign_run_is_ordered_as_trec_eval_does(tmp_path: Path) -> None:
    run = "q\tQ0\ta\t1\t1.0\tx\nq Q0  b 2 1.0000000001 x\r\n\nq Q0 é 9 1e0 x\nq Q0 c 3 5 x\n"
    (tmp_path / "run.txt").write_bytes(run.encode())
    assert [doc_id for doc_id, _ in read_run(tmp_path / "run.txt")["q"]] == ["c", "é", "b", "a"]


@pytest.mark.parametrize(
    ("ranking", "said"),
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
def test_what_no_run_can_hold_is_refused_and_the_old_file_stays(tmp_path: Path, ranking: Any, said: str) -> None:
    file = tmp_path / "run.txt"
    file.write_text("old", encoding="utf-8")
    with pytest.raises(DataError, match=said):
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
    assert read_qrels(tmp_path / "qrels.txt") == qrels


def test_the_form_of_judgements(tmp_path: Path) -> None:
    write_qrels(tmp_path / "qrels.txt", {"q": {"b": 2, "a": -1}})
    assert (tmp_path / "qrels.txt").read_bytes() == b"q 0 b 2\nq 0 a -1\n"


@pytest.mark.parametrize(
    ("reader", "line", "said"),
    [
        (read_run, b"q Q0 d 2 1.0", "has 5 fields, not 6"),
        (read_run, b"q Q0 a b 2 1.0 x", "has 7 fields, not 6"),
        (read_run, b"q Q0 d 2 high x", "the score is 'high'"),
        (read_run, b"q Q0 d 2 nan x", "the score is 'nan'"),
        (read_run, b"q Q0 d1 2 0.5 x", "'d1' is ranked twice"),
        (read_run, b"q Q0 d\xff 2 0.5 x", "is not UTF-8"),
        (read_qrels, b"q d 1", "has 3 fields, not 4"),
        (read_qrels, b"q 0 d 1.5", "the grade is '1.5'"),
        (read_qrels, b"q 0 d1 1", "'d1' is judged twice"),
    ],
)
def test_malformed_lines_are_named(tmp_path: Path, reader: Any, line: bytes, said: str) -> None:
    file = tmp_path / "file.txt"
    file.write_bytes((b"q Q0 d1 1 1.0 x\n" if reader is read_run else b"q 0 d1 1\n") + line + b"\n")
    with pytest.raises(DataError, match=said) as caught:
        reader(file)
    assert caught.value.where == f"{file}:2"


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        read_run(tmp_path / "run.txt")
