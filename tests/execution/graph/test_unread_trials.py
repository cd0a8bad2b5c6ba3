"""What a plan and a board say of texts that nothing reads: chunks beyond MiniLM's window, and files that are not parsed yet."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support.command_line import Verb, verb
from support.sample_files import SAMPLES
from support.small_set import write_experiment, write_golden

from rag.components.embedders.minilm import MiniLmEmbedder
from rag.config.experiment import load
from rag.execution.graph import language_gaps
from rag.execution.sweep import sweep
from rag.reporting.html import markdown, wording
from rag.reporting.html.gather import gather
from rag.tracking import sweep_runs

LONG = "The ferry to Holm leaves at seven. " * 60 + "Lost property is kept for thirty days at the harbour."
SHORT = "Dogs travel free of charge."
QUESTIONS = [
    ("q1", "How long is lost property kept?", "long.md", "kept for thirty days"),
    ("q2", "Do dogs pay?", "short.md", "Dogs"),
]
AXES = """\
  search:
    words: index=[bm25s] embedder=hashing
    minilm: index=[dense] embedder=minilm
    windows: index=[dense] embedder=minilm_windows
  reranker: reranker=none,maxsim"""


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """Write an experiment with some axes over two documents, one of them longer than MiniLM's window; its path."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "golden" / "documents").mkdir(parents=True)
    for name, text in (("long.md", LONG), ("short.md", SHORT)):
        (tmp_path / "golden" / "documents" / name).write_text(text, "utf-8")
    lines = [
        {"id": name, "text": text, "kind": "factoid", "evidence": [{"any": [{"doc": doc, "quote": quote}]}]}
        for name, text, doc, quote in QUESTIONS
    ]
    (tmp_path / "golden" / "questions.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")

    def write(axes: str) -> str:
        fixed = "[dataset.path=golden, chunker=whole, generator=none, latency=0, store=store, fusion=single]"
        text = f"question: Is all of it read?\ndataset: native\nsplit: all\nfixed: {fixed}\naxes:\n{axes}\n"
        (tmp_path / "study.yaml").write_text(text, "utf-8")
        return "study.yaml"

    return write


def beyond() -> int:
    """The characters of the long document from the first word piece that MiniLM does not read."""
    return len(LONG) - MiniLmEmbedder().token_offsets(LONG)[254][0]


def test_the_share_is_the_same_in_plan_leaderboard_mlflow_and_report(study: Callable[[str], str], rag: Verb) -> None:
    path, share = study(AXES), beyond() / len(LONG + SHORT)
    assert 0.3 < share < 0.7
    result = rag("sweep", path, "--no-track", "--json").json
    names = {trial["trial"]: trial["name"] for trial in result["trials"]}
    found = {names[trial_id]: measured for trial_id, measured in result["measured"].items()}
    assert {name.partition(" ")[0]: measured.get("unread") for name, measured in found.items() if "none" in name} == {
        "words": None,
        "minilm": pytest.approx(share),
        "windows": 0,
    }
    # A reranker reads every chunk here: all are among its candidates.
    assert [measured.get("reranker_unread") for name, measured in found.items() if "maxsim" in name] == [
        pytest.approx(share)
    ] * 3
    assert not any("reranker_unread" in measured for name, measured in found.items() if "none" in name)
    ready = sweep.prepare(load(path, ()))
    assert sorted(set(language_gaps.unread_shares(ready.plan, ready.store).values())) == [0.0, pytest.approx(share)]
    sent = {
        trial.trial_id: trial.metrics
        for trial in sweep_runs.record(sweep_runs.recall(ready.plan, ready.store), ready.store).trials
    }
    for trial_id, measured in result["measured"].items():
        for column in ("unread", "reranker_unread"):
            assert sent[trial_id].get(column) == measured.get(column)
    percent = f"{100 * share:.1f} %"
    assert result["unread"].startswith(f"In 4 of 6 trials chunks are longer than a model's window: up to {percent} of their")
    assert json.loads(Path("reports/study/verdict.json").read_text("utf-8"))["unread"] == result["unread"]
    material = gather(ready.plan, ready.store)
    assert result["unread"] in wording.headline(material).sure
    assert percent in markdown.render(material)


def test_a_plan_says_it_before_anything_ran_and_without_a_model(
    study: Callable[[str], str], rag: Verb, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, share = study(AXES), beyond() / len(LONG + SHORT)
    monkeypatch.setitem(sys.modules, "torch", None)
    result = rag("plan", path, "--json").json
    assert result["stages"]["cached"] == 0
    assert sorted(result["unread"].values()) == [0.0, 0.0, pytest.approx(share), pytest.approx(share)]
    shown = rag("plan", path).out
    assert f"0.0 % – {100 * share:.1f} %" in shown
    assert "In 2 of 6 trials chunks are longer than a model's window" in shown


@pytest.fixture
def unparsed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Verb:
    documents = write_golden(tmp_path / "golden") / "documents"
    for number in range(3):
        (documents / f"{number}.csv").write_bytes(SAMPLES["csv"]() + b"x,%d\n" % number)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    write_experiment(Path("e.yaml"), Path("../golden"), "  k: k=1,3", ', "index=[bm25s]", fusion=single')
    return verb(capsys, monkeypatch)


def test_a_plan_counts_files_until_they_are_parsed(unparsed: Verb, tmp_path: Path) -> None:
    before = unparsed("plan", "e.yaml")
    assert before.code == 0
    assert before.out.startswith("3 of 7 files are to be parsed: 3 of kinds that were never parsed on this store.\nThe stages")
    assert not Path(".rag/store/parses").exists()
    files = {"total": 7, "to_parse": 3, "seconds": 0.0, "unmeasured": 3}
    assert json.loads(unparsed("plan", "e.yaml", "--json").out) == {"experiment": "e.yaml", "files": files, "stages": None}
    assert unparsed("dataset", "check", "native", "dataset.path=../golden").code == 0  # parses, and stores
    after = json.loads(unparsed("plan", "e.yaml", "--json").out)
    assert (after["trials"], after["stages"]["to_run"] > 0, "files" in after) == (2, True, False)
    (tmp_path / "golden" / "documents" / "1.csv").write_bytes(SAMPLES["csv"]() + b"y,1\n")
    again = json.loads(unparsed("plan", "e.yaml", "--json").out)["files"]
    assert (again["total"], again["to_parse"], again["unmeasured"]) == (7, 1, 0)
    assert "1 of 7 files are to be parsed: about 0 seconds.\n" in unparsed("plan", "e.yaml").out
