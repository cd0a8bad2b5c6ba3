"""Routes and values are gated like any metric, and the confusion matrix stands in report and terminal."""

import json
from pathlib import Path

import pytest
from support.command_line import verb

LINES = 24
STUDY = """\
question: Do records answer?
dataset: native
split: all
fixed: ["dataset.path=golden", "index=[bm25s]", fusion=single, embedder=hashing, latency=0, enrich=tables,
        "metrics=[value_match,route_accuracy,recall@5]"]
axes:
  route: ["route=rules"]
objective: maximize value_match
controls: false
gate:
  split: all
  metrics: {value_match: 0.05, route_accuracy: 0.05}
  bounds: ["failed == 0"]
"""


@pytest.mark.system
def test_a_router_that_misses_records_fails_the_gate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"| Line {chr(65 + number)} | {10 * number + 5} crowns |\n" for number in range(LINES))
    Path("golden/documents").mkdir(parents=True)
    Path("golden/documents/fares.md").write_text(f"# Fares\n\n| Line | Price |\n|---|---|\n{rows}", "utf-8")
    Path("golden/documents/dogs.md").write_text("# Dogs\n\nDogs travel free of charge in the bow.\n", "utf-8")
    asked = [
        {
            "text": f"How many lines have a price below {10 * number} crowns?",
            "route": "records",
            "expects": {"value": str(number)},
        }
        for number in range(1, LINES)
    ]
    asked.append({"text": "Where do dogs travel?", "route": "semantic", "answers": ["in the bow"]})
    with Path("golden/questions.jsonl").open("w", encoding="utf-8") as file:
        for number, row in enumerate(asked):
            doc = "dogs.md" if row["route"] == "semantic" else "fares.md"
            named = {"id": f"q{number}", "cluster": f"c{number}", "split": "tune", "evidence": [{"any": [{"doc": doc}]}]}
            file.write(json.dumps(row | named) + "\n")
    Path("study.yaml").write_text(STUDY, "utf-8")
    rag = verb(capsys, monkeypatch)
    swept = rag("sweep", "study.yaml", "--no-track", "--json")
    (trial,) = swept.json["trials"]
    assert {name: (column["mean"], column["n"]) for name, column in trial["metrics"].items()} == {
        "value_match": (1.0, LINES - 1),
        "route_accuracy": (1.0, LINES),
        "recall@5": (1.0, 1),
    }
    assert rag("baseline", "study.yaml").code == 0
    assert rag("gate", "study.yaml", "--json").json["verdict"] == "PASS"
    worse = rag("gate", "study.yaml", "route=semantic", "--json")
    assert (worse.code, {row["column"]: row["verdict"] for row in worse.json["rows"]}) == (
        1,
        {"value_match": "FAIL", "route_accuracy": "FAIL"},
    )
    matrix = {"semantic": {"semantic": 1, "records": 0, "both": 0}, "records": {"semantic": 0, "records": LINES - 1, "both": 0}}
    assert rag("why", f"trial={trial['trial']}", "--json").json["trials"][0]["routes"] == matrix
    assert "went to records" in rag("why", f"trial={trial['trial']}").out
    why = rag("why", "q3", f"trial={trial['trial']}")
    assert "Route: records (" in why.out
    assert "Records answer it" in why.out
    assert rag("report", "study.yaml").code == 0
    page = next(Path("reports/study").glob("*.html")).read_text("utf-8")
    assert "Questions by right and chosen route" in page
