"""A baseline and a gate on the command line: sweep, baseline, change, verdict."""

import json
import shutil
from pathlib import Path
from xml.etree import ElementTree

from support.command_line import CommandResult, Verb
from support.gate_experiment import write_gated


def gate(rag: Verb, *changes: str) -> CommandResult:
    return rag("gate", "study.yaml", *changes, "--json")


def test_the_same_pipeline_passes_after_a_sample_and_nothing_is_stored(rag: Verb, here: Path) -> None:
    shutil.rmtree(here / ".rag")
    for changes in ((), ("execute=processes", "store=elsewhere")):
        said = gate(rag, *changes)
        assert (said.code, said.json["verdict"], said.json["candidate"]["name"]) == (0, "PASS", "wide")
        computed = "Computed as a check: 32 of 96 questions, with the same scores."
        assert said.json["sentence"] == f"Nothing that a score depends on differs from the baseline. {computed}"
        assert {row["difference"] for row in said.json["rows"]} == {0.0}
        assert said.json["changed"] == []
    assert not (here / ".rag").exists()
    assert not Path("elsewhere/stages").exists()


def test_a_harmful_change_fails_and_names_slice_questions_and_stage(rag: Verb, here: Path) -> None:
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
    shutil.rmtree(here / ".rag")
    shown = rag("gate", "study.yaml", "chunker.size=40", "--markdown", "comment.md")
    assert (shown.code, shown.out[:4]) == (1, "FAIL")
    assert "kind=long" in shown.out
    folder = Path("reports/study/gate")
    assert json.loads((folder / "gate.json").read_text("utf-8")) == said.json, "the same without what was stored"
    assert int(ElementTree.parse(folder / "junit.xml").getroot().get("failures", 0)) > 0
    assert Path("comment.md").read_text("utf-8").startswith("<!-- assay-gate study -->\n\n## FAIL: gate of")
    assert gate(rag, "index.bm25s.k1=1.3").json["sentence"] == "Nothing is worse by more than its margin."


def test_a_gate_on_the_holdout_is_logged_as_a_use(rag: Verb, here: Path) -> None:
    def uses() -> int:
        return len(list((here / ".rag/store/looks").rglob("*/*/*")))

    before = uses()
    for size, more in ((500, 1), (500, 1), (450, 2)):
        gate(rag, f"chunker.size={size}")
        assert uses() == before + more


def test_a_broken_bound_fails(rag: Verb, here: Path) -> None:
    write_gated(
        here / "study.yaml", Path("../golden"), gate='gate: {metrics: {}, bounds: ["recall@5 >= 0.5", "failed == 0"]}\n'
    )
    assert gate(rag).code == 0
    said = gate(rag, "chunker.size=15")
    assert (said.code, said.json["sentence"]) == (1, "recall@5 >= 0.5: broken.")


def test_the_exit_code_of_an_open_verdict_is_a_setting(rag: Verb, here: Path) -> None:
    for meant, code in (("warn", 3), ("pass", 0)):
        # With other chunks some questions win and some lose, which a margin of 0 leaves open.
        own = f"gate:\n  metrics: {{ndcg@10: 0.0}}\n  inconclusive: {meant}\n"
        write_gated(here / "study.yaml", Path("../golden"), gate=own)
        said = gate(rag, "chunker.size=580")
        assert (said.json["verdict"], said.code, said.json["exit_code"]) == ("INCONCLUSIVE", code, code)
    assert rag("gate", "study.yaml", "chunker.size=580", "--inconclusive", "fail").code == 1
