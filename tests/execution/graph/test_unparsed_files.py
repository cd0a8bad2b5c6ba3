"""A plan of a corpus that is not parsed yet counts its files and parses nothing."""

import json
from pathlib import Path

import pytest
from support.command_line import Verb, verb
from support.sample_files import SAMPLES
from support.small_set import write_experiment, write_golden


@pytest.fixture
def rag(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Verb:
    documents = write_golden(tmp_path / "golden") / "documents"
    for number in range(3):
        (documents / f"{number}.csv").write_bytes(SAMPLES["csv"]() + b"x,%d\n" % number)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    write_experiment(Path("e.yaml"), Path("../golden"), "  k: k=1,3", ', "index=[bm25s]", fusion=single')
    return verb(capsys, monkeypatch)


def test_a_plan_counts_files_until_they_are_parsed(rag: Verb, tmp_path: Path) -> None:
    before = rag("plan", "e.yaml")
    assert before.code == 0
    assert before.out.startswith("3 of 7 files are to be parsed: 3 of kinds that were never parsed on this store.\nThe stages")
    assert not Path(".rag/store/parses").exists()
    files = {"total": 7, "to_parse": 3, "seconds": 0.0, "unmeasured": 3}
    assert json.loads(rag("plan", "e.yaml", "--json").out) == {"experiment": "e.yaml", "files": files, "stages": None}
    assert rag("dataset", "check", "native", "dataset.path=../golden").code == 0  # parses, and stores
    after = json.loads(rag("plan", "e.yaml", "--json").out)
    assert (after["trials"], after["stages"]["to_run"] > 0, "files" in after) == (2, True, False)
    (tmp_path / "golden" / "documents" / "1.csv").write_bytes(SAMPLES["csv"]() + b"y,1\n")
    again = json.loads(rag("plan", "e.yaml", "--json").out)["files"]
    assert (again["total"], again["to_parse"], again["unmeasured"]) == (7, 1, 0)
    assert "1 of 7 files are to be parsed: about 0 seconds.\n" in rag("plan", "e.yaml").out
