"""Review of generated and imported questions: decisions, provenance, several reviewers, kills, large and damaged sets."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from support.command_line import Verb
from support.small_set import AXES, write_experiment, write_golden
from support.waiting_questions import file_of, rows_of, write_rows, write_waiting

from rag.authoring.review.review_loop import Review
from rag.core.errors import DataError

pytestmark = pytest.mark.usefixtures("here")

TODAY = datetime.now(UTC).date().isoformat()


@pytest.fixture
def waiting(tmp_path: Path) -> Path:
    return write_waiting(tmp_path / "waiting")


def opened(golden: Path, by: str = "Ann") -> Review:
    return Review(file_of(golden), by=by)


def test_a_decision_changes_its_own_line_and_says_who_made_it(waiting: Path) -> None:
    before, review = rows_of(waiting), opened(waiting)
    assert list(review.waiting) == ["q1", "q2", "q3", "q4", "q5", "q6"]
    review.accept("q1")
    review.drop("q2")
    review.accept("q4", before[3] | {"answers": ["30 days"]})
    after = {row["id"]: row for row in rows_of(waiting)}
    made = before[0]["provenance"] | {"accepted": {"by": "Ann", "at": TODAY}}
    assert after["q1"] == before[0] | {"provenance": made}
    assert "q2" not in after
    assert after["q4"]["answers"] == ["30 days"]
    assert after["q4"]["provenance"]["method"] == "rule:definition, edited"
    assert [row for row in before if row["id"] in ("q3", "q5", "q6")] == [after[name] for name in ("q3", "q5", "q6")]
    assert list(opened(waiting).waiting) == ["q3", "q5", "q6"]
    file_of(waiting).golden()


def test_passages_of_a_pool_become_gold_or_are_judged_as_not_relevant(tmp_path: Path, rag: Verb) -> None:
    study = write_experiment(tmp_path / "study.yaml", golden := write_golden(tmp_path / "golden"), AXES)
    assert rag("sweep", str(study), "--no-track").code == 0
    assert rag("data", "pool", str(study)).code == 0
    lines = [json.loads(line) for line in (golden / "questions.pool.jsonl").read_text("utf-8").splitlines()]
    assert [row["change"] for row in lines] == sorted((row["change"] for row in lines), reverse=True)
    assert lines[0]["change"] > 0
    before, review = (golden / "questions.jsonl").read_bytes(), opened(golden)
    first, second = [name for name in review.waiting if name.startswith(f"{lines[0]['id']}/")][:2]
    assert "answer the question" in review.look(first)["notes"][0]
    review.accept(first)
    review.drop(second)
    row = next(row for row in rows_of(golden) if row["id"] == lines[0]["id"])
    assert row["evidence"][0]["any"][-1] == lines[0]["place"]
    assert len(row["judged"]) == 1
    assert row["provenance"]["method"] == "pool"
    assert len(row["provenance"]["searches"]) > 1
    assert not {first, second} & set(opened(golden).waiting)
    example = next(each for each in file_of(golden).golden().examples if each.query.query_id == row["id"])
    assert len(example.judged) == 1
    assert example.searches == tuple(row["provenance"]["searches"])
    assert [review.undo(), review.undo()] == [second, first]
    assert (golden / "questions.jsonl").read_bytes() == before
    assert {first, second} <= set(review.waiting)


def test_a_label_is_looked_at_again_once(golden: Path, rag: Verb, tmp_path: Path) -> None:
    axes, path = '  search: ["index=[bm25s] fusion=single", "index=[dense] fusion=single"]', golden / "questions.pool.jsonl"
    study = write_experiment(tmp_path / "study.yaml", golden, axes, ", dataset.complete=true, chunker=fixed, chunker.size=60")
    assert rag("sweep", str(study), "--no-track").code == rag("data", "pool", str(study), "--again").code == 0
    assert {json.loads(line)["relevant"] for line in path.read_text("utf-8").splitlines()} == {True, False}
    before = {row["id"]: row["evidence"] for row in rows_of(golden)}
    winter, (dogs, under) = {"doc": "winter.md", "quote": "no ferry"}, (group["any"][0] for group in before["q3"])
    asked = [("q1", winter, False), ("q3", dogs, True), ("q3", under, True), ("q3", under, False)]
    rows = [{"id": name, "place": place, "relevant": label} for name, place, label in asked]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    review = opened(golden)
    assert list(review.waiting) == ["q1/1", "q3/2", "q3/3"], "the label of the last is another one"
    review.accept("q1/1")
    review.accept("q3/2")
    review.drop("q3/3")
    after = {row["id"]: row for row in rows_of(golden)}
    assert after["q1"]["evidence"] == [{"any": [*before["q1"][0]["any"], winter]}]
    assert (after["q3"]["evidence"], after["q3"]["judged"], "judged" in after["q1"]) == (before["q3"][:1], [under], False)
    assert (after["q3"]["provenance"]["looked"], list(opened(golden).waiting)) == ([dogs, under], [])


def test_undo_restores_the_file_byte_by_byte(waiting: Path) -> None:
    path = waiting / "questions.jsonl"
    before, review = path.read_bytes(), opened(waiting)
    review.accept("q3")
    review.drop("q1")
    review.drop("q6")
    assert [review.undo() for _ in range(3)] == ["q6", "q1", "q3"]
    assert (path.read_bytes(), list(review.waiting), review.accepted, review.dropped) == (
        before,
        list(opened(waiting).waiting),
        [],
        [],
    )
    with pytest.raises(DataError, match="no question of the set has been decided"):
        review.undo()


@pytest.mark.parametrize(
    ("edit", "error"),
    [
        ({"id": "other"}, "'id' was edited"),
        ({"split": ""}, "'split' was added or removed"),
        ({"text": ""}, "'text' is"),
        ({"evidence": [{"any": [{"doc": "ferry.md", "quote": "at eleven"}]}]}, "is not in 'ferry.md'"),
        ({"answers": "seven"}, "'answers' is"),
    ],
)
def test_an_invalid_edit_is_refused_at_its_line(waiting: Path, edit: dict[str, object], error: str) -> None:
    path, review = waiting / "questions.jsonl", opened(waiting)
    before = path.read_bytes()
    row = review.waiting["q2"].row | edit
    with pytest.raises(DataError, match=error):
        review.accept("q2", row)
    assert error in str(review.refusal("q2", row))
    assert path.read_bytes() == before
    assert sorted(entry.name for entry in waiting.iterdir()) == ["documents", "questions.jsonl"]


def test_a_question_shows_its_evidence_in_place_and_what_speaks_against_it(waiting: Path) -> None:
    rows = rows_of(waiting)
    rows[1] |= {"text": "When does the ferry to Holm leave"}
    rows[2]["evidence"] = [{"any": [{"doc": "ferry.md", "quote": "A ticket costs"}, {"doc": "winter.md"}]}]
    write_rows(waiting, rows)
    look = opened(waiting).look
    (place,) = look("q1")["evidence"][0]
    assert (place["heading"], place["before"][-11:], place["after"][:9]) == ("Ferry", "# Ferry\n\n", " A ticket")
    assert look("q1")["notes"] == ["q2 has nearly the same words"]
    assert look("q3")["notes"] == ["the quote 'A ticket costs' is also in bus.md"]
    assert [(each["doc"], each["quote"]) for each in look("q3")["evidence"][0]] == [
        ("ferry.md", "A ticket costs"),
        ("winter.md", ""),
    ]


def test_two_reviewers_keep_each_others_decisions(waiting: Path) -> None:
    first, second = opened(waiting), opened(waiting, "Ben")
    first.accept("q1")
    second.drop("q2")
    for late, name in ((second, "q1"), (first, "q2")):
        with pytest.raises(DataError, match="no question and no rating"):
            late.accept(name)
    second.accept("q3")
    first.drop("q4")
    by = {row["id"]: row["provenance"].get("accepted", {}).get("by") for row in rows_of(waiting)}
    assert by == {"q1": "Ann", "q3": "Ben", "q5": None, "q6": None}


def test_questions_without_provenance_do_not_wait_and_half_a_line_is_named(golden: Path) -> None:
    assert opened(golden).waiting == {}
    path = golden / "questions.jsonl"
    path.write_text(path.read_text("utf-8")[:-30], "utf-8")
    with pytest.raises(DataError, match=re.escape(f"{path}:6")):
        opened(golden)


ACCEPTING = """
import sys
from pathlib import Path
from support.small_set import AXES, write_experiment, write_golden
from support.waiting_questions import file_of
from rag.authoring.review.review_loop import Review
review = Review(file_of(Path(sys.argv[1])), by="Ann")
for name in list(review.waiting):
    review.accept(name)
    print(name, flush=True)
"""


@pytest.mark.system
def test_a_kill_during_a_write_leaves_the_set_whole(tmp_path: Path) -> None:
    golden, left = write_waiting(tmp_path / "waiting", times=100), 600
    where = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    for number in range(3):
        command = [sys.executable, "-c", ACCEPTING, str(golden)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, **where})
        assert process.stdout
        process.stdout.readline()  # one is accepted
        time.sleep(0.05 + 0.03 * number)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        assert len(file_of(golden).golden().examples) == 600
        before, left = left, len(opened(golden).waiting)
        assert left < before


def test_the_terminal_shows_decides_and_takes_back(
    rag: Verb, waiting: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    rows = rows_of(waiting)
    rows[0]["text"] += " [red]now[/red] \x1b[31m"
    write_rows(waiting, rows)
    (tmp_path / "typed").write_text("d\nu\na\ns\nx\nq\n", "utf-8")
    monkeypatch.setattr(sys, "stdin", (tmp_path / "typed").open(encoding="utf-8"))
    said = rag("dataset", "review", "native", f"dataset.path={waiting}", "--by", "Ann")
    assert said.code == 0, said
    assert said.out.count("1 of 6  rule:definition 2026-11-20  q1") == 2
    assert "leave? [red]now[/red] [31m" in said.out
    assert "\x1b[31m" not in said.out
    assert "# Ferry\n\nThe ferry to Holm leaves at seven. A ticket costs nine crowns." in said.out
    assert "1 written" in said.out
    assert "5 waiting" in said.out
    assert rows_of(waiting)[0]["provenance"]["accepted"] == {"by": "Ann", "at": TODAY}
