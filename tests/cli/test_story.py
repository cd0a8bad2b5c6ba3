"""The story of docs/gate.md, done: sweep, recommendation on the holdout, baseline, gates that pass, fail and cannot tell."""

import json
import re
import shlex
from pathlib import Path

import pytest
from support.command_line import Verb, verb

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/gate.md").read_text("utf-8")
CODES = {"PASS": 0, "FAIL": 1, "INCONCLUSIVE": 3}


@pytest.fixture
def rag(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Verb:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    return verb(capsys, monkeypatch)


def commands() -> list[tuple[list[str], str]]:
    """The words of each command of the story, and the verdict that its comment promises."""
    section = PAGE.split("## From a sweep to a gate", 1)[1].split("\n## ", 1)[0]
    lines = re.search(r"```sh\n(.*?)```", section, re.DOTALL)
    assert lines is not None
    parted = (line.split("#", 1) for line in lines[1].splitlines())
    return [(shlex.split(command)[1:], (re.findall("PASS|FAIL|INCONCLUSIVE", said) or [""])[0]) for command, said in parted]


def test_the_story_of_the_page(rag: Verb) -> None:
    told = commands()
    assert [words[:2] for words, _ in told[:2]] == [["sweep", "lexical"], ["study", "baseline"]]
    assert [verdict for _, verdict in told] == ["", "", "PASS", "PASS", "FAIL"]
    swept = rag(*told[0][0], "--no-track", "--json").json
    winner = swept["winner"]
    (standing,) = (found for found in winner["standings"] if found["trial_id"] == winner["recommended"])
    assert (winner["holdout"], winner["uses"]) == (False, 0)
    assert standing["tied"]
    assert winner["expected"]["mean"] == pytest.approx(standing["tune"]["mean"], abs=0.01), "the best is clearly the best"
    assert rag(*told[1][0]).code == 0
    kept = json.loads(Path("reports/baselines/lexical.json").read_text("utf-8"))
    assert kept["trial"] == standing["name"]
    for words, verdict in told[2:]:
        said = rag(*words, "--json")
        assert (said.code, said.json["verdict"]) == (CODES[verdict], verdict), words
    assert any(row["slice"].startswith("kind=") and row["verdict"] == "FAIL" for row in said.json["rows"])
    lost = said.json["lost"]
    assert lost
    assert "cut apart by the chunker" in {found["stage"] for found in lost}
    shown = rag(*told[-1][0])
    assert shown.out.startswith("FAIL")
    assert "kind=exact_id" in shown.out
    assert lost[0]["query_id"] in shown.out
    again = rag(*told[-1][0], "--json")
    assert again.json == said.json, "the same change twice gives the same verdict"
