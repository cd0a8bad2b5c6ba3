"""Drift: what became of quotes after edits of their documents, in `rag data check` and `rag data fix`."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from support.command_line import Verb
from support.waiting_questions import documents_of, file_of, rows_of, write_waiting

from rag.authoring.candidates import digests
from rag.authoring.review.drift import Drift, drifts
from rag.core.types import Document

pytestmark = pytest.mark.usefixtures("here")

QUOTE = "You may carry four unused days into the next leave year."
TEXT = f"# Leave\n\nIntroduction.\n\n{QUOTE} Ask your manager first.\n"
OTHER = "# Pay\n\nPay day is the last Friday of the month.\n"


def drift(text: str | None, other: str = OTHER, answer: str = "four days") -> Drift | None:
    """What became of the quote when its document has this text; None is no document."""
    old = {"leave.md": Document("leave.md", TEXT), "pay.md": Document("pay.md", OTHER)}
    new = {"pay.md": replace(old["pay.md"], text=other)} | ({"leave.md": replace(old["leave.md"], text=text)} if text else {})
    evidence = [{"any": [{"doc": "leave.md", "quote": QUOTE}]}]
    row = {"id": "q", "answers": [answer], "evidence": evidence, "provenance": {"documents": digests(["leave.md"], old)}}
    return next(drifts([row], new), None)


def changed(old: str, new: str) -> str:
    assert old in TEXT
    return TEXT.replace(old, new)


@pytest.mark.parametrize(
    ("text", "other", "state", "to", "new"),
    [
        (changed("Introduction", "Preface"), OTHER, "there", (), ""),
        (changed(QUOTE, ""), f"{OTHER}\n{QUOTE}\n", "moved", ("pay.md",), ""),
        (None, f"{OTHER}\n{QUOTE}\n", "moved", ("pay.md",), ""),
        (
            changed("unused days into", "days that are left into"),
            OTHER,
            "reworded",
            ("leave.md",),
            "You may carry four days that",
        ),
        (changed("four", "five"), OTHER, "changed", ("leave.md",), "You may carry five unused days into the next leave year."),
        (changed("four", "4"), OTHER, "reworded", ("leave.md",), "You may carry 4 unused days into the next leave year."),
        (changed("may carry", "may not carry"), OTHER, "changed", ("leave.md",), "You may not carry"),
        (changed("year.", "year, and take them in May."), OTHER, "reworded", ("leave.md",), "You may carry four"),
        (changed(QUOTE, ""), OTHER, "gone", (), ""),
        (None, OTHER, "gone", (), ""),
        (None, OTHER + changed("carry", "take"), "reworded", ("pay.md",), "You may take four"),
    ],
)
def test_states_of_a_quote(text: str | None, other: str, state: str, to: tuple[str, ...], new: str) -> None:
    found = drift(text, other)
    assert found is not None
    assert (found.state, found.to) == (state, to)
    assert found.new.startswith(new)


def test_a_word_of_the_answer_that_is_gone_is_a_fact() -> None:
    found = drift(changed("unused", "spare"), answer="unused days")
    assert found
    assert (found.state, found.facts) == ("changed", (("unus",), ()))


def test_unchanged_documents_and_questions_without_provenance_do_not_drift() -> None:
    assert drift(TEXT) is None
    known = {"leave.md": Document("leave.md", TEXT)}
    assert list(drifts([{"id": "q"}, {"id": "r", "provenance": 3, "evidence": [{"any": 1}]}], known)) == []


@pytest.fixture
def edited(tmp_path: Path) -> Path:
    """A set after edits: q1 is reworded, the number of q2 differs, and the evidence of q6 is in a changed document."""
    golden = write_waiting(tmp_path / "edited")
    edits = {
        "ferry.md": ("The ferry to Holm leaves at seven.", "The ferry for Holm leaves at seven sharp."),
        "bus.md": ("four crowns", "five crowns"),
        "winter.md": ("# Winter", "# In winter"),
    }
    for name, (old, new) in edits.items():
        path = golden / "documents" / name
        path.write_text(path.read_text("utf-8").replace(old, new), "utf-8")
    return golden


def test_check_lists_what_changed_documents_touch_though_the_set_cannot_be_loaded(rag: Verb, edited: Path) -> None:
    said = rag("dataset", "check", "native", f"dataset.path={edited}")
    assert said.code == 2
    assert "q1: ferry.md has the quote in other words, in ferry.md" in said.out
    assert "[-to-] {+for+} Holm leaves at [-seven.-] {+seven sharp.+}" in said.out
    assert "facts: 4 → 5." in said.out
    assert "q6: winter.md has changed and still has the quote" in said.out
    assert "Not reviewed: 6 rule:definition." in said.out
    report = rag("dataset", "check", "native", f"dataset.path={edited}", "--json").json
    states = {(each["query_id"], each["doc_id"]): each["state"] for each in report["drift"]}
    expected = {("q1", "ferry.md"): "reworded", ("q2", "bus.md"): "changed", ("q3", "ferry.md"): "there"}
    assert states == expected | {("q6", "winter.md"): "there"}


def test_fix_writes_accepted_words_only_and_dates_what_is_in_place(rag: Verb, edited: Path) -> None:
    fix = ("dataset", "fix", "native", f"dataset.path={edited}")
    before = {row["id"]: row for row in rows_of(edited)}
    assert rag(*fix, "--yes").code == 2
    after = {row["id"]: row for row in rows_of(edited)}
    assert [name for name in after if after[name] != before[name]] == ["q3", "q6"], (
        "digests of documents in which quotes still are"
    )
    assert (after["q1"], after["q6"]["evidence"]) == (before["q1"], before["q6"]["evidence"])
    assert rag(*fix, "--yes", "--accept", "q2").err.startswith("--accept: 'q2' has no quote that was only reworded")
    assert rag(*fix, "--yes", "--accept", "q1").out == "1 quote written.\n"
    after = {row["id"]: row for row in rows_of(edited)}
    assert after["q1"]["evidence"] == [{"any": [{"doc": "ferry.md", "quote": "The ferry for Holm leaves at seven sharp."}]}]
    assert after["q1"]["provenance"]["documents"] == digests(["ferry.md"], documents_of(edited))
    assert after["q2"] == before["q2"]
    assert [each.query_id for each in drifts(rows_of(edited), file_of(edited).documents)] == ["q2"]


DIFF_ROWS = [
    {"id": "a", "text": "A?", "evidence": [{"any": [{"doc": "x", "quote": "one"}]}]},
    {"id": "b", "text": "B?", "evidence": [{"any": [{"doc": "x", "quote": "two"}]}], "provenance": {"method": "person"}},
    {"id": "c", "text": "C?", "cluster": "c"},
]


def written(path: Path, rows: list[dict[str, object]]) -> str:
    path.mkdir()
    (path / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return str(path)


def test_diff_names_the_parts_that_changed_and_what_follows(rag: Verb, tmp_path: Path) -> None:
    a, b, c = DIFF_ROWS
    old = written(tmp_path / "old", DIFF_ROWS)
    new = written(
        tmp_path / "new",
        [
            {**b, "provenance": {"method": "person", "accepted": {}}, "kind": "fact"},
            {**a, "evidence": [{"any": [{"doc": "x", "quote": "once"}]}]},
            {**c, "id": "d", "cluster": "d"},
            {"id": "e", "text": "E?", "expects": {"value": "4"}},
        ],
    )
    found = rag("dataset", "diff", old, new, "--json").json
    assert found == {
        "added": ["e"],
        "removed": [],
        "renamed": {"c": "d"},
        "changed": {"b": ["kind", "provenance"], "a": ["evidence re-quoted"]},
        "same": 0,
        "digests": ["queries", "golden", "asked"],
        "reordered": True,
    }
    said = rag("dataset", "diff", old, new).out
    assert "renamed: c → d, with the same content" in said
    assert "1 added, 0 removed, 1 renamed, 2 changed, 0 with the same id and content, in another order." in said
