import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.command_line import Verb
from support.small_set import AXES, write_experiment, write_golden

from rag.config.experiment import load
from rag.core.types import Span
from rag.evaluation.scoring import Judged
from rag.execution.graph.plan import Plan
from rag.execution.graph.stage_inputs import corpus_of, rankings_of
from rag.execution.store.store import Store
from rag.execution.sweep import holdout, sweep
from rag.reporting import html
from rag.reporting.html import page
from rag.reporting.html.explorer_data import outcomes
from rag.reporting.html.view_model import FAILED, LOST, NO_GOLD, PARTLY, SOLVED, Material


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Plan, Store, Path]]:
    """A small sweep that ran and was written down."""
    folder = tmp_path_factory.mktemp("ran")
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield _swept(folder, folder)
    finally:
        os.chdir(before)


def _swept(folder: Path, place: Path, axes: str = AXES) -> tuple[Plan, Store, Path]:
    write_experiment(place / "toy.yaml", write_golden(place / "golden"), axes)
    ready = sweep.prepare(load(str(place / "toy.yaml"), ["store=" + str(place / "store")]))
    done = sweep.run(ready.plan, ready.store, ready.settings, lambda *_: None)
    sweep.write(done, folder / "reports")
    holdout.write(done, holdout.reach(done, ready.store, ready.settings, None), folder / "reports")
    return ready.plan, ready.store, folder / "reports"


@pytest.fixture(scope="module")
def found(ran: tuple[Plan, Store, Path]) -> Material:
    """The content of the report of that sweep."""
    return html.gather(*ran)


def test_a_report_has_the_results_of_the_sweep(ran: tuple[Plan, Store, Path], found: Material) -> None:
    written = json.loads((ran[2] / "toy" / "verdict.json").read_text("utf-8"))
    board = json.loads((ran[2] / "toy" / "leaderboard.json").read_text("utf-8"))
    assert [row.trial_id for row in found.trials] == [trial["trial"] for trial in board["trials"]]
    assert [row.score.mean for row in found.trials] == [trial["metrics"]["ndcg@10"]["mean"] for trial in board["trials"]]
    assert found.verdict is not None
    assert found.verdict.recommended == written["winner"]["recommended"]
    assert {row.trial_id for row in found.trials if row.front} == set(written["winner"]["front"])
    assert [factor.mean for factor in found.effects] == [one["mean"] for one in written["effects"]["effects"]]
    assert found.data.questions == 6
    assert found.reuse.trials == len(found.trials) == 18
    assert found.reuse.distinct == len(ran[0].stages) < found.reuse.one_by_one
    assert set(found.missing) >= {"controls", "holdout"}
    assert all(sentence.endswith(".") for sentence in found.missing.values())
    assert found.latency == {}
    assert sum(distinct for _, distinct, _ in found.reuse.kinds) == found.reuse.distinct
    assert sum(every for _, _, every in found.reuse.kinds) == found.reuse.one_by_one


def test_passages_and_chunks_at_the_gold_are_those_of_the_stored_rankings(
    ran: tuple[Plan, Store, Path], found: Material
) -> None:
    plan, store, _ = ran
    assert found.explorer is not None
    for shown in found.explorer.trials:
        trial = next(trial for trial in plan.trials if trial.trial_id == shown.trial_id)
        entries = [store.read(plan.stages[key].entry) for key in (trial.ends.corpus, trial.ends.ranking)]
        assert entries[0] is not None
        assert entries[1] is not None
        corpus, rankings = corpus_of(entries[0], trial.golden), rankings_of(entries[1])
        for row, passages in enumerate(found.explorer.rankings[shown.ranking].passages):
            chunks = [corpus.chunk(position).span for position, _ in rankings.row(row)[:10]]
            assert passages == [(span.doc_id, span.start, span.end) for span in chunks]
        for row, groups in enumerate(found.explorer.rankings[shown.ranking].gold):
            ranked = [corpus.chunk(position).span for position, _ in rankings.row(row)]
            assert len(groups) == len(trial.golden.examples[row].evidence)
            for one, group in zip(groups, trial.golden.examples[row].evidence, strict=True):
                spans = [Span(one.document, chunk.start, chunk.end) for _, chunk in one.chunks]
                assert [rank for rank, _ in one.chunks] == [ranked.index(span) + 1 if span in ranked else 0 for span in spans]
                gold = group.alternatives[0]
                assert isinstance(gold, Span)
                assert any(span.start < gold.end and span.end > gold.start for span in spans)


@pytest.mark.parametrize("wrong", ["", "[]", "other trials", "other scores"])
def test_without_a_verdict_on_file_about_these_trials_the_store_gives_one(
    ran: tuple[Plan, Store, Path], found: Material, tmp_path: Path, wrong: str
) -> None:
    path = tmp_path / "toy" / "verdict.json"
    path.parent.mkdir()
    concluded = json.loads((ran[2] / "toy" / "verdict.json").read_text("utf-8"))
    concluded["winner"]["why"] = "believed"
    if wrong == "other trials":
        concluded["winner"]["standings"].pop()
    elif wrong == "other scores":
        concluded["winner"]["standings"][0]["tune"]["mean"] = 0.123
    if wrong:
        path.write_text(json.dumps(concluded) if wrong.startswith("other") else wrong, "utf-8")
    again = html.gather(ran[0], ran[1], tmp_path).verdict
    assert again is not None
    assert again.why != "believed"
    assert again.recommended == getattr(found.verdict, "recommended", "")


def test_of_many_trials_the_first_are_opened_and_the_leaderboard_has_all(
    ran: tuple[Plan, Store, Path], found: Material, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules["rag.reporting.html.gather"], "MOST_OPENED", 3)
    few = html.gather(*ran)
    assert few.missing["elsewhere"] == "15 trials are behind the first 3: only the leaderboard has them."
    assert [row.trial_id for row in few.trials] == [row.trial_id for row in found.trials]
    assert few.explorer is not None
    assert found.explorer is not None
    assert {each.trial_id for each in few.explorer.trials} < {each.trial_id for each in found.explorer.trials}
    assert few.verdict is not None
    assert few.verdict.recommended in {each.trial_id for each in few.explorer.trials}


def test_a_folder_that_cannot_be_written_is_an_error_before_the_work(ran: tuple[Plan, Store, Path], tmp_path: Path) -> None:
    (tmp_path / "toy").write_text("a file where the folder should be", "utf-8")
    with pytest.raises(FileExistsError):
        html.write(ran[0], ran[1], tmp_path)


def test_trials_that_failed_are_named_and_the_rest_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    plan, store, folder = _swept(tmp_path, tmp_path, '  chunker: ["chunker=fixed chunker.size=60", chunker=whole]\n  k: k=1,3')
    lost = plan.trials[0]
    store.remove(plan.stages[lost.ends.score].entry)
    path = folder / "toy" / "leaderboard.json"
    board = json.loads(path.read_text("utf-8"))
    for trial in board["trials"]:
        trial["status"] = "failed" if trial["trial"] == lost.trial_id else trial["status"]
    path.write_text(json.dumps(board), "utf-8")
    made = html.write(plan, store, folder)
    assert [row.trial_id for row in made.material.trials if row.status == "failed"] == [lost.trial_id]
    assert lost.trial.name in made.text.read_text("utf-8").replace("\\", "")
    assert "failed" in made.page.read_text("utf-8")


def test_outcomes() -> None:
    ranks = np.array([[1, 4], [2, 9], [0, 0], [-1, -1], [1, 2], [3, -1]], np.int32)
    nothing = np.zeros((6, 1), np.int64)
    judged = Judged(ranks, ranks * 0.0, *[nothing] * 5, np.zeros(6, np.int64), np.zeros(6, np.int64), ranks[:, 0] >= 0)
    failed = np.array([False, False, False, False, True, False])
    lost = np.array([0, 5, 3, 0, 0, 9])
    assert outcomes(judged, 5, failed, lost).tolist() == [SOLVED, PARTLY, LOST, NO_GOLD, FAILED, LOST]


def test_the_verb_writes_both_files_and_attaches_them_to_the_sweep_in_mlflow(
    rag: Verb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    monkeypatch.setattr(page, "CHARTS", dict.fromkeys(page.CHARTS, lambda material: None))
    _swept(tmp_path, tmp_path, "  k: k=1,3")
    override = f"store={tmp_path / 'store'}"
    said = rag("report", "toy.yaml", override, "--json")
    assert (said.code, bool(said.json["sure"])) == (0, True)
    assert not Path(".rag/mlflow.db").exists()
    assert rag("track", "toy.yaml", override).code == 0
    spoken = rag("report", "toy.yaml", override, "--no-track")
    assert spoken.out.startswith(f"First so far: {said.json['name']} ({said.json['recommended']}).")
    assert spoken.out.splitlines()[-2:] == [said.json["page"], said.json["text"]]
    assert _attached() == []
    assert rag("report", "toy.yaml", override).code == 0
    assert _attached() == ["report.html", "report.md", "verdict.json"]
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    broken = rag("report", "toy.yaml", override)
    assert broken.code == 0
    assert "The report is written, but not in MLflow" in broken.err


def _attached() -> list[str]:
    found: list[Any] = list(Path(".rag/mlartifacts").rglob("report.*")) + list(Path(".rag/mlartifacts").rglob("verdict.json"))
    return sorted(path.name for path in found)
