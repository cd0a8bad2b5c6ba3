"""A generated set as a user gets it: `rag data generate`, and the set in the hands of the other verbs."""

import json
from collections import Counter
from pathlib import Path

import pytest
from support.command_line import Verb

from rag.api import generation
from rag.authoring.candidates import Candidate
from rag.authoring.generation import probe
from rag.core.types import Span


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Documents with a table each, and a sentence."""
    path = tmp_path / "documents"
    path.mkdir()
    for number, name in enumerate(("Pellham", "Hallow", "Sill", "Ferrier")):
        rows = "".join(f"| {name} {boat} | £{10 * number + place + 5} | Ruth |\n" for place, boat in enumerate("ABCDE"))
        text = (
            f"# {name} boats\n\nThe {name} gate opens at 0{number + 5}:15.\n\n| Boat | Price | Owner |\n|---|---|---|\n{rows}"
        )
        (path / f"{name.lower()}.md").write_text(text, "utf-8")
    return path


def test_a_set_is_written_and_checked(rag: Verb, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generation, "sentence_vectors", lambda *given: None)  # the model takes five seconds to load
    to, store = tmp_path / "golden", f"store={tmp_path / 'store'}"
    report = rag("dataset", "generate", str(folder), store, "--to", str(to), "--questions", "20", "--json").json
    rows = [json.loads(line) for line in (to / "questions.jsonl").read_text("utf-8").splitlines()]
    assert len(rows) == report["questions"] == 20
    assert Counter(row["kind"] for row in rows) == report["kinds"]
    assert {row["provenance"]["method"].split(":")[0] for row in rows} == {"rule"}
    assert set(report["solved"]) == {"words 400", "words 1600", "stems 400", "stems 1600"}
    assert "favour searches by words" in report["notes"][0]
    assert 0 <= report["solved_by_all"] + report["solved_by_none"] <= 1
    checked = rag("dataset", "check", "native", f"dataset.path={to}", f"loader.path={folder}", "--json")
    assert checked.code == 0
    assert checked.json["fates"] == {"exact": sum(len(row["evidence"]) for row in rows)}
    again = rag("dataset", "generate", str(folder), "--to", str(to))
    assert (again.code, "is not overwritten" in again.err) == (2, True)


def test_bad_input(rag: Verb, tmp_path: Path) -> None:
    to = str(tmp_path / "golden")
    (tmp_path / "one").mkdir()
    (tmp_path / "empty").mkdir()
    (tmp_path / "one" / "a.md").write_text("Nothing to ask here, ever.", "utf-8")
    for name in ("one", "empty"):
        assert rag("dataset", "generate", str(tmp_path / name), "--to", to).code == 2
    wrong = rag("dataset", "generate", str(tmp_path / "one"), "--to", to, "--kinds", "tables")
    assert (wrong.code, "table" in wrong.err) == (2, True)
    assert not Path(to).exists()


def test_a_question_is_solved_by_half_of_a_span_of_each_group() -> None:
    one, two = Span("a", 0, 100), Span("b", 0, 10)
    asked = Candidate("Which?", "multi_hop", "rule:x", evidence=((one,), (two, Span("c", 0, 4))))
    solved = [[Span("a", 50, 200), Span("c", 0, 2)], [Span("a", 0, 30), Span("a", 20, 60), Span("b", 5, 10)]]
    missed = [[Span("a", 51, 200), Span("b", 0, 9)], [one], [], [Span("d", 0, 100), two]]
    assert [probe._is_solved(asked, found) for found in [*solved, *missed]] == [True] * 2 + [False] * 4
