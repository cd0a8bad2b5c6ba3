"""Boards, `why` and reports count the questions whose route is the expected one."""

import json
from pathlib import Path

import pytest
from support.command_line import Verb

LINES = 4
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
"""


@pytest.mark.system
def test_routes_are_scored_and_counted_by_right_and_chosen_route(rag: Verb, here: Path) -> None:
    rows = "".join(f"| Line {chr(65 + number)} | {10 * number + 5} crowns |\n" for number in range(LINES))
    Path("golden/documents").mkdir(parents=True)
    Path("golden/documents/fares.md").write_text(f"# Fares\n\n| Line | Price |\n|---|---|\n{rows}", "utf-8")
    Path("golden/documents/dogs.md").write_text("# Dogs\n\nDogs travel free of charge in the bow.\n", "utf-8")
    wanted = "How many lines have a price below {} crowns?"
    asked = [
        {"text": wanted.format(10 * number), "route": "records", "expects": {"value": str(number)}, "doc": "fares.md"}
        for number in range(1, LINES)
    ]
    asked.append({"text": "Where do dogs travel?", "route": "semantic", "answers": ["in the bow"], "doc": "dogs.md"})
    with Path("golden/questions.jsonl").open("w", encoding="utf-8") as file:
        for number, row in enumerate(asked):
            evidence = [{"any": [{"doc": row.pop("doc")}]}]
            file.write(json.dumps(row | {"id": f"q{number}", "evidence": evidence}) + "\n")
    Path("study.yaml").write_text(STUDY, "utf-8")
    (trial,) = rag("sweep", "study.yaml", "--no-track", "--json").json["trials"]
    assert {name: (column["mean"], column["n"]) for name, column in trial["metrics"].items()} == {
        "value_match": (1.0, LINES - 1),
        "route_accuracy": (1.0, LINES),
        "recall@5": (1.0, 1),
    }
    matrix = {"semantic": {"semantic": 1, "records": 0, "both": 0}, "records": {"semantic": 0, "records": LINES - 1, "both": 0}}
    assert rag("why", f"trial={trial['trial']}", "--json").json["trials"][0]["routes"] == matrix
    assert "went to records" in rag("why", f"trial={trial['trial']}").out
    why = rag("why", "q2", f"trial={trial['trial']}").out
    assert "Route: records (" in why
    assert "Records answer it" in why
    assert rag("report", "study.yaml").code == 0
    assert "Questions by right and chosen route" in next(Path("reports/study").glob("*.html")).read_text("utf-8")
