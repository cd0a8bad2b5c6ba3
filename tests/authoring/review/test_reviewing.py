"""From ratings to a golden set: the file stays valid, and no rating is decided twice."""

import json
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.command_line import Verb
from support.corpora import text_folder
from support.ratings import BAD, FERRY, context, opinion, told
from support.small_set import write_golden

from rag.authoring.review.drafts import Opinion
from rag.authoring.review.question_file import QuestionFile
from rag.authoring.review.review_loop import Review
from rag.components.loaders.native_questions import NativeQuestions
from rag.core.errors import DataError, UserError
from rag.evaluation.data import golden as golden_sets
from rag.serve.conversations import Conversations
from rag.serve.feedback import Opinions

RIGHT = {"id": "new", "text": "Who may bring a dog?", "split": "tune", "evidence": [{"any": [{"doc": "ferry.md"}]}]}


def opened(golden: Path) -> QuestionFile:
    return QuestionFile(text_folder(str(golden / "documents")), NativeQuestions(str(golden)))


def ids(golden: Path) -> list[str]:
    loaded = golden_sets.load(text_folder(str(golden / "documents")), NativeQuestions(str(golden)))
    return [example.query.query_id for example in loaded.examples]


def test_a_question_is_added_at_the_end(golden: Path) -> None:
    before = (golden / "questions.jsonl").read_bytes()
    opened(golden).add(RIGHT)
    after = (golden / "questions.jsonl").read_bytes()
    assert after.startswith(before)
    assert after[len(before) :].count(b"\n") == 1
    assert ids(golden)[-1] == "new"
    path = golden / "questions.jsonl"
    path.write_bytes(before.rstrip(b"\n"))
    opened(golden).add(RIGHT)
    assert ids(golden)[-2:] == ["q6", "new"]
    path.unlink()
    opened(golden).add(RIGHT)
    assert ids(golden) == ["new"]


@pytest.mark.parametrize(
    ("row", "error"),
    [
        (RIGHT | {"id": "q1"}, "is also at"),
        (RIGHT | {"split": ""}, "1 of 7 questions have no split"),
        (RIGHT | {"split": "train"}, "'split' is 'train'"),
        (RIGHT | {"text": " "}, "'text' is"),
        (RIGHT | {"txt": "?"}, "unknown key 'txt'"),
        (RIGHT | {"evidence": [{"any": []}]}, "names no place"),
        (RIGHT | {"evidence": [{"any": [{"doc": "ferry.md", "quote": "at eleven"}]}]}, "is not in"),
        (RIGHT | {"evidence": [{"any": [{"doc": "ferry.md", "quote": "e"}]}]}, "more than once"),
        (RIGHT | {"evidence": [{"any": [{"doc": "plane.md"}]}]}, "no document 'plane.md'"),
        (RIGHT | {"answers": "seven"}, "'answers' is"),
        (RIGHT | {"text": "half \ud800"}, "cannot be written"),
        (RIGHT | {"grade": float("nan")}, "cannot be written"),
        ([RIGHT], "not a JSON object"),
    ],
)
def test_an_invalid_question_is_refused_with_its_place(golden: Path, row: Any, error: str) -> None:
    path = golden / "questions.jsonl"
    before = path.read_bytes()
    file = opened(golden)
    with pytest.raises(UserError, match=error) as caught:
        file.add(row)
    assert str(file.refusal(row)) == str(caught.value)
    assert ".review" not in str(caught.value)
    assert path.read_bytes() == before
    assert sorted(entry.name for entry in golden.iterdir()) == ["documents", "questions.jsonl"]


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(["ferry.md", "tune", "q1", "seven"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["any", "doc", "quote", "grade"]), inner),
    max_leaves=6,
)
ROWS = st.fixed_dictionaries(
    {}, optional={name: PLAIN for name in ("text", "split", "answers", "evidence", "history", "kind", "cluster", "turn")}
)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_golden(tmp_path_factory.mktemp("kept") / "golden")


@settings(max_examples=40)
@given(ROWS)
def test_the_set_stays_valid_for_any_input(kept: Path, row: dict[str, Any]) -> None:
    path = kept / "questions.jsonl"
    before, number = path.read_bytes(), len(ids(kept))
    try:
        opened(kept).add({"id": "new", "text": "?", "split": "tune"} | row)
    except UserError:
        assert path.read_bytes() == before
    else:
        assert len(ids(kept)) == number + 1
        path.write_bytes(before)


def test_a_concurrent_edit_is_kept(golden: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, file = golden / "questions.jsonl", opened(golden)
    checked, times = QuestionFile._checked, iter(range(10))

    def meanwhile(self: QuestionFile, row: Any, before: str) -> str:
        after = checked(self, row, before)
        if next(times) == 0:
            path.write_text(path.read_text("utf-8") + json.dumps(RIGHT | {"id": "other"}) + "\n", "utf-8")
        return after

    monkeypatch.setattr(QuestionFile, "_checked", meanwhile)
    file.add(RIGHT)
    assert ids(golden)[-2:] == ["other", "new"]


def test_two_concurrent_reviews_are_both_kept(golden: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write, both = QuestionFile._write, threading.Barrier(2, timeout=1)

    def together(self: QuestionFile, path: Path, text: str) -> None:
        if path == self.path:
            with suppress(threading.BrokenBarrierError):
                both.wait()
        write(self, path, text)

    monkeypatch.setattr(QuestionFile, "_write", together)
    with ThreadPoolExecutor(2) as threads:
        list(threads.map(lambda name: opened(golden).add(RIGHT | {"id": name}), ["one", "two"]))
    assert sorted(ids(golden)[-2:]) == ["one", "two"]
    assert sorted(entry.name for entry in golden.iterdir()) == ["documents", "questions.jsonl"]


def review(golden: Path, *opinions: Opinion) -> tuple[Review, list[str]]:
    settled: list[str] = []
    return Review(opened(golden), opinions, settled.extend), settled


def test_a_rating_is_settled_only_when_it_is_written(golden: Path) -> None:
    good, bad = opinion(FERRY), opinion(BAD, -1)
    going, settled = review(golden, good, bad)
    with pytest.raises(DataError, match="rated as a bad answer"):
        going.accept(bad.answer)
    assert settled == []
    going.accept(good.answer)
    assert settled == [good.answer]
    going.drop(bad.answer)
    assert settled == [good.answer, bad.answer]
    assert (going.accepted, going.dropped, going.waiting) == ([good.answer], [bad.answer], {})
    assert len(ids(golden)) == 7
    with pytest.raises(DataError, match="no question and no rating of"):
        going.drop(bad.answer)


def test_waiting_ratings_are_drafted_again(golden: Path) -> None:
    free = [context(1, "ferry.md", "Dogs travel free of charge.")]
    answers = [told(f"May my dog number {n} come?", "Dogs travel free of charge [1].", free) for n in range(2)]
    (golden / "questions.jsonl").unlink()
    first, second = map(opinion, answers)
    going, _ = review(golden, first, second)
    assert going.waiting[first.answer].row["cluster"] != going.waiting[second.answer].row["cluster"]
    cluster = going.waiting[first.answer].row["cluster"]
    going.accept(first.answer)
    assert going.waiting[second.answer].row["cluster"] == cluster


@pytest.fixture
def kept_by_server(here: Path) -> Opinions:
    talks = Conversations("sqlite:///.rag/serve.db")
    opinions = Opinions(talks.database)
    for answer, rating, comment in ((FERRY, 1, ""), (BAD, -1, "Nobody [red]may[/red]. \x1b[31m")):
        opinions.keep("ann", answer)
        opinions.add("ann", answer["id"], rating, comment)
    return opinions


@pytest.fixture
def asked(rag: Verb, golden: Path, kept_by_server: Opinions) -> Verb:
    return lambda *more: rag("dataset", "review", "native", f"dataset.path={golden}", *more)


def typing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, lines: str) -> None:
    """Standard input."""
    path = tmp_path / "typed"
    path.write_text(lines, "utf-8")
    monkeypatch.setattr(sys, "stdin", path.open(encoding="utf-8"))


def test_candidates_are_accepted_by_options(asked: Verb, golden: Path, kept_by_server: Opinions, tmp_path: Path) -> None:
    row = asked("--json").json["candidates"][1]["row"]
    lines = tmp_path / "edited.jsonl"
    lines.write_text(json.dumps(row | {"text": "Who may bring a mule?"}) + "\n", "utf-8")
    said = asked("--edited", str(lines), "--accept", FERRY["id"])
    assert said.code == 0
    assert "2 written" in said.out
    assert kept_by_server.candidates() == []
    assert len(ids(golden)) == 8
    written = (golden / "questions.jsonl").read_text("utf-8")
    assert "mule" in written
    assert "unconfirmed" not in written, "accepting confirms"


EDITOR = """
import json, sys
path = sys.argv[1]
row = json.load(open(path, encoding="utf-8"))
row["text"] = "Who may bring a mule?"
row["evidence"] = [{"any": [{"doc": "ferry.md", "quote": QUOTE}]}]
json.dump(row, open(path, "w", encoding="utf-8"))
"""


def test_one_is_edited_until_it_fits(
    asked: Verb, golden: Path, kept_by_server: Opinions, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    script = tmp_path / "an editor.py"
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", f"{sys.executable} '{script}'")
    script.write_text(EDITOR.replace("QUOTE", "'Mules travel free'"), "utf-8")
    typing(monkeypatch, tmp_path, "d\ne\na\n")
    said = asked()
    assert said.err.count("is not in 'ferry.md'") == 2
    assert [each.answer for each in kept_by_server.candidates()] == [BAD["id"]]
    script.write_text(EDITOR.replace("QUOTE", "'Dogs travel free'"), "utf-8")
    typing(monkeypatch, tmp_path, "e\na\n")
    assert "1 written" in asked().out
    assert kept_by_server.candidates() == []
    assert len(ids(golden)) == 7
    written = (golden / "questions.jsonl").read_text("utf-8")
    assert "mule" in written
    assert "unconfirmed" not in written, "accepting confirms"
