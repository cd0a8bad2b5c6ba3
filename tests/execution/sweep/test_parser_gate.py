"""Parsers under a generator with its controls, a baseline and a gate, by the command line."""

from pathlib import Path

import pytest
from support.command_line import verb

pytestmark = pytest.mark.system

STUDY = """\
question: Which parser?
dataset: native
split: all
fixed: [dataset.path=golden, chunker=sentence, chunker.sentences=1, chunker.step=1,
  "index=[bm25s]", fusion=single, generator=extractive, latency=0,
  "metrics=[ndcg@10,recall@5,token_f1]"]
axes:
  parser: {whole: +loader.parsers.pages=whole, halved: +loader.parsers.pages=halved}
gate:
  metrics: {recall@5: 0.02, token_f1: 0.05}
"""


def test_controls_baseline_and_gate_across_parsers(
    town: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(town)
    (town / "study.yaml").write_text(STUDY)
    rag = verb(capsys, monkeypatch)
    swept = rag("sweep", "study.yaml", "--no-track", "--json")
    assert swept.code == 0, swept.err
    controls = {row["name"]: row["mean"] for row in swept.json["controls"] if row["column"] == "token_f1"}
    assert controls["closed_book"] == 0
    assert controls["gold_contexts"] > controls["retrieved"] > controls["shuffled_contexts"]
    assert rag("baseline", "study.yaml").code == 0
    same = rag("gate", "study.yaml", "--json")
    assert (same.code, same.json["verdict"]) == (0, "PASS"), same.err
    assert "Computed as a check: 32 of 100 questions, with the same scores." in same.json["sentence"]
    refused = rag("gate", "study.yaml", "+loader.parsers.pages=halved", "--json")
    assert (refused.code, "corpus differs" in refused.err) == (2, True)
    worse = rag("gate", "study.yaml", "+loader.parsers.pages=halved", "--bridge", "corpus", "--json")
    assert (worse.code, worse.json["verdict"], worse.json["losses"]) == (1, "FAIL", {"lost by the parser": 40})
    rows = {row["column"]: (row["base"], row["candidate"], row["n"]) for row in worse.json["rows"]}
    assert rows["recall@5"] == (1.0, 0.6, 100)
    assert rows["token_f1"][0] == pytest.approx(controls["retrieved"], abs=1e-6)
    assert rows["token_f1"][0] > rows["token_f1"][1]  # each answers from its own text
