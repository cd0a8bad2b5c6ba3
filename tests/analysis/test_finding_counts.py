"""Counts of the findings of checks and guards, from the stored answers of a sweep."""

import json
from pathlib import Path

import pytest
from support.command_line import Verb

from rag.analysis.finding_counts import Fired, Tally, in_words
from rag.config.experiment import ad_hoc
from rag.execution.sweep import sweep
from rag.reporting.html import markdown, page
from rag.reporting.html.gather import gather
from rag.tracking import sweep_runs

FIXED = ("embedder=hashing", "embedder.dimensions=64", "index=[bm25s]", "fusion=single", "latency=0", "chunker=whole")
CHECKED = ("check=[retrieval_floor,numbers,citations]", "check.retrieval_floor.floor=0.2", "metrics=[recall@5,abstention]")


def test_the_counts_of_each_check_in_every_report(rag: Verb, golden: Path, here: Path) -> None:
    given = ("dataset=native", f"dataset.path={golden}", *FIXED, *CHECKED)
    swept = rag("run", *given, "--no-track", "--json").json
    ((trial_id, tally),) = swept["checks"].items()
    assert trial_id == swept["trials"][0]["trial"]
    assert list(tally["fired"]) == ["retrieval_floor", "numbers", "citations"]
    floor = tally["fired"]["retrieval_floor"]
    assert tally["questions"] == 6
    assert floor["questions"] == floor["actions"]["abstain"] == tally["unasked"] >= 1
    assert tally["fired"]["citations"] == {"findings": 0, "questions": 0, "actions": {}}
    assert tally["unasked"] <= tally["declined"] < 6
    said = " ".join(rag("run", *given, "--no-track").out.split())
    assert f"Its checks and guards, as findings in questions: declined {tally['declined']} of 6;" in said
    assert f"{floor['findings']} in {floor['questions']}, {floor['findings']} not asked" in said
    ready = sweep.prepare(ad_hoc(given))
    material = gather(ready.plan, ready.store)
    assert material.found is not None
    assert material.found.columns == ("declined", "retrieval_floor", "numbers", "citations")
    (line,) = material.found.lines
    assert line[1].endswith("of 6")
    assert "not asked" in line[2]
    assert line[3:] == ("–", "–")
    assert "What checks and guards found" in markdown.render(material)
    assert "not asked" in page.render(material)
    (sent,) = sweep_runs.record(sweep_runs.recall(ready.plan, ready.store), ready.store).trials
    assert sent.metrics["found/retrieval_floor"] == sent.metrics["found/retrieval_floor/abstain"] == floor["questions"]
    assert sent.metrics["found/citations"] == 0
    assert (sent.metrics["answers/declined"], sent.metrics["answers/unasked"]) == (tally["declined"], tally["unasked"])


@pytest.mark.parametrize(
    ("fired", "text"),
    [
        (Fired(0, 0, {}), "–"),
        (Fired(12, 9, {"flag": 12}), "12 in 9"),
        (Fired(4, 3, {"flag": 1, "refuse": 3}), "4 in 3, 3 refused"),
    ],
)
def test_counts_in_words(fired: Fired, text: str) -> None:
    assert in_words(fired) == text
    assert Tally("t", "n", 9, 0, 0, 0, {"x": fired}).to_json()["fired"]["x"]["findings"] == fired.findings


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
