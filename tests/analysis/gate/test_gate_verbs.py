"""A baseline and a gate on the command line: sweep, baseline, change, verdict."""

import json
import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest
from support.command_line import CommandResult, Verb
from support.gate_experiment import write_gated, write_many


def gate(rag: Verb, *changes: str) -> CommandResult:
    return rag("gate", "study.yaml", *changes, "--json")


# Verdicts


def test_the_same_pipeline_passes_after_a_sample_and_nothing_is_stored(rag: Verb, here: Path) -> None:
    shutil.rmtree(here / ".rag")
    said = gate(rag)
    assert (said.code, said.json["verdict"]) == (0, "PASS")
    computed = "Computed as a check: 32 of 96 questions, with the same scores."
    assert said.json["sentence"] == f"Nothing that a score depends on differs from the baseline. {computed}"
    assert not (here / ".rag").exists()
    assert {row["difference"] for row in said.json["rows"]} == {0.0}
    assert said.json["changed"] == []


def test_a_change_of_runtime_alone_is_no_change(rag: Verb, here: Path) -> None:
    shutil.rmtree(here / ".rag")
    said = gate(rag, "execute=processes", "+embedder.runtime={}")
    assert (said.code, said.json["verdict"]) == (0, "PASS")
    assert not (here / ".rag" / "store" / "stages").exists()
    elsewhere = gate(rag, "execute=processes", "store=elsewhere")
    assert (elsewhere.code, elsewhere.json["candidate"]["name"]) == (0, "wide")
    assert not Path("elsewhere/stages").exists()


def test_a_harmful_change_fails_and_names_slice_questions_and_stage(rag: Verb) -> None:
    said = gate(rag, "chunker.size=40")
    assert (said.code, said.json["verdict"]) == (1, "FAIL")
    rows = {(row["column"], row["slice"]): row for row in said.json["rows"]}
    assert set(rows) == {("ndcg@10", ""), ("recall@5", ""), ("recall@5", "kind=long"), ("recall@5", "kind=short")}
    assert rows["recall@5", "kind=long"]["verdict"] == "FAIL"
    assert rows["recall@5", "kind=long"]["high"] < 0
    assert rows["recall@5", "kind=long"]["low"] < -0.10
    assert "recall@5 kind=long" in said.json["sentence"]
    worst = said.json["lost"][0]
    assert (worst["query_id"], worst["stage"]) == ("long-001", "cut apart by the chunker")
    assert worst["text"] == "How does one mend the violet lantern?"
    assert worst["scores"] == {"ndcg@10": [1.0, 0.0], "recall@5": [1.0, 0.0]}
    assert len(said.json["lost"]) == 10
    assert max(said.json["losses"], key=said.json["losses"].get) == "cut apart by the chunker"
    assert said.json["losses"]["cut apart by the chunker"] >= 40
    assert said.json["changed"] == [{"key": "chunker.size", "baseline": 600, "candidate": 40}]
    assert said.json["candidate"]["name"] == "chunker.size=40"


def test_a_gate_on_the_holdout_is_logged_as_a_look(rag: Verb, here: Path) -> None:
    def looks() -> int:
        return len(list((here / ".rag/store/looks").rglob("*/*/*")))

    before = looks()
    for size, more in ((500, 1), (500, 1), (450, 2)):
        gate(rag, f"chunker.size={size}")
        assert looks() == before + more


def test_a_harmless_change_passes(rag: Verb) -> None:
    said = gate(rag, "index.bm25s.k1=1.3")
    assert (said.code, said.json["verdict"]) == (0, "PASS")
    assert said.json["sentence"] == "Nothing is worse by more than its margin."


def test_the_same_change_twice_gives_the_same_bytes(rag: Verb, here: Path) -> None:
    first, second = gate(rag, "chunker.size=40"), gate(rag, "chunker.size=40")
    assert first.out == second.out
    shutil.rmtree(here / ".rag")
    assert gate(rag, "chunker.size=40").out == first.out


def test_too_few_questions_are_inconclusive(rag: Verb, here: Path, tmp_path: Path) -> None:
    write_many(tmp_path / "few", documents=7)
    write_gated(here / "few.yaml", tmp_path / "few")
    assert rag("sweep", "few.yaml", "--no-track").code == 0
    assert rag("baseline", "few.yaml").code == 0
    said = rag("gate", "few.yaml", "index.bm25s.k1=1.3", "--json")
    assert (said.code, said.json["verdict"]) == (3, "INCONCLUSIVE")
    rows = {(row["column"], row["slice"]): row for row in said.json["rows"]}
    assert rows["ndcg@10", ""]["why"].startswith("too few questions: 10 questions in 5 clusters")
    # No score changed, so the needed number of questions is unknown.
    assert {(row["difference"], row["low"], row["needed"]) for row in rows.values()} == {(0.0, None, None)}
    assert "would settle" not in said.json["sentence"]


@pytest.mark.parametrize(("meant", "code"), [("warn", 3), ("fail", 1), ("pass", 0)])
def test_the_exit_code_of_an_open_verdict_is_a_setting(rag: Verb, here: Path, meant: str, code: int) -> None:
    # With other chunks some questions win and some lose, which a margin of 0 leaves open.
    write_gated(here / "study.yaml", Path("../golden"), gate=f"gate:\n  metrics: {{ndcg@10: 0.0}}\n  inconclusive: {meant}\n")
    said = gate(rag, "chunker.size=580")
    assert (said.json["verdict"], said.code) == ("INCONCLUSIVE", code)
    assert said.json["exit_code"] == code
    assert rag("gate", "study.yaml", "chunker.size=580", "--inconclusive", "fail").code == 1


def test_a_broken_bound_fails(rag: Verb, here: Path) -> None:
    write_gated(
        here / "study.yaml", Path("../golden"), gate='gate: {metrics: {}, bounds: ["recall@5 >= 0.5", "failed == 0"]}\n'
    )
    assert gate(rag).code == 0
    said = gate(rag, "chunker.size=15")
    assert (said.code, said.json["sentence"]) == (1, "recall@5 >= 0.5: broken.")


def test_a_change_may_replace_the_choice_of_an_axis(rag: Verb) -> None:
    said = gate(rag, "chunker=whole")
    assert said.code in (0, 1, 3)
    fixed, whole = "rag.components.chunkers.fixed.FixedChunker", "rag.components.chunkers.whole.WholeChunker"
    assert said.json["changed"] == [{"key": "chunker", "baseline": fixed, "candidate": whole}]


# Files


def test_files_are_in_the_report_folder_or_elsewhere(rag: Verb, here: Path) -> None:
    assert rag("gate", "study.yaml", "chunker.size=40", "--markdown", "comment.md").code == 1
    folder = Path("reports/study/gate")
    assert json.loads((folder / "gate.json").read_text("utf-8"))["verdict"] == "FAIL"
    suite = ElementTree.parse(folder / "junit.xml").getroot()
    assert int(suite.get("failures", 0)) > 0
    assert Path("comment.md").read_text("utf-8").startswith("<!-- assay-gate study -->\n\n## FAIL: gate of")
    assert not (folder / "gate.md").exists()


def test_the_terminal_shows_the_verdict_first(rag: Verb) -> None:
    text = rag("gate", "study.yaml", "chunker.size=40").out
    assert text.startswith("FAIL")
    assert "cut apart by the chunker" in text
    assert "kind=long" in text
