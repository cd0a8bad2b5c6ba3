"""Counts of the findings of checks and guards, from the stored answers of a sweep."""

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
