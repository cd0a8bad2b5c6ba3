"""A sweep in MLflow: columns of trials, and the parent run."""

import contextlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from support.command_line import verb
from support.gate_experiment import write_gated, write_many

from rag.execution.sweep.objective import Objective
from rag.execution.sweep.selection import Mean, Standing, Winner
from rag.tracking import mlflow_client, sweep_runs, trial_results

rag = pytest.fixture(verb)
METRICS = ["ndcg@10", "recall@5", "token_f1"]
TUNE = 12
"""Questions of the split `tune`: two of each document, of every fifth document."""
MEASURED = {"stage_seconds", "cpu_seconds", "index_bytes", "tokens", "cost_usd", "unjudged"}
FOUND = {"answers_declined", "answers_unasked", "found_off_topic"}
"""Findings of the default check."""


@pytest.fixture(scope="module")
def swept(tables: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a sweep of two trials that was sent."""
    folder = tmp_path_factory.mktemp("swept")
    with pytest.MonkeyPatch.context() as patch, contextlib.chdir(folder):
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        (folder / ".rag").mkdir()
        shutil.copy(tables, folder / ".rag" / "mlflow.db")
        write_many(folder / "golden", 30)
        fixed = f', "generator=extractive", "metrics=[{",".join(METRICS)}]"'
        write_gated(folder / "study.yaml", Path("golden"), gate="controls: false\nsplit: tune\n", fixed=fixed)
        patch.setattr("sys.argv", ["rag", "sweep", "study.yaml"])
        from rag import cli

        with pytest.raises(SystemExit) as ended:
            cli.main()
        assert not ended.value.code
    return folder


@pytest.fixture
def there(swept: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A client of the database; the test works in the folder of the sweep."""
    from mlflow import MlflowClient

    monkeypatch.chdir(swept)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    return MlflowClient(tracking_uri=mlflow_client.prepare(None, sweep_runs.FOLDER))


def all_runs(client: Any) -> tuple[Any, list[Any]]:
    """The parent run, and the runs of trials."""
    found = client.search_runs([client.get_experiment_by_name("study").experiment_id])
    (parent,) = (run for run in found if "assay.sweep" in run.data.tags)
    return parent, [run for run in found if run is not parent]


def recommended(client: Any) -> Any:
    (run,) = (run for run in all_runs(client)[1] if run.data.tags["verdict"] == "first")
    return run


def verdict() -> dict[str, Any]:
    return dict(json.loads(Path("reports/study/verdict.json").read_text("utf-8"))["winner"])


def artifact(run: Any, name: str) -> Any:
    return json.loads((Path(run.info.artifact_uri.removeprefix("file://")) / name).read_text("utf-8"))


def test_a_trial_has_the_metrics_of_the_experiment_with_intervals_and_few_params(there: Any) -> None:
    for run in all_runs(there)[1]:
        means = {"ndcg_10", "recall_5"}  # token_f1 has no value: the golden set has no answers
        ends = {f"{name}_{end}" for name in means for end in ("low", "high")}
        assert run.data.metrics.keys() == means | ends | MEASURED | FOUND
        assert {run.data.metrics[name] for name in FOUND} == {0.0}, "every question has its answer in the documents"
        low, high = (run.data.metrics[f"ndcg_10_{end}"] for end in ("low", "high"))
        assert low <= run.data.metrics["ndcg_10"] <= high
        params = {
            "passage": "plain",
            "index": "bm25s",
            "fusion": "single",
            "reranker": "none",
            "selector": "none",
            "generator": "extractive",
        }
        chunker = "wide" if run.info.run_name == "wide" else "narrow"
        assert run.data.params == params | {"chunker": chunker, "k": "5", "split": "tune"}
        (dataset,) = run.inputs.dataset_inputs
        assert dataset.dataset.name == "golden"
        rest = artifact(run, "metrics.json")
        assert rest["kinds"]["short"]["recall@5"]["n"] == TUNE / 2
        assert rest["metrics"]["ndcg@10"]["mean"] == run.data.metrics["ndcg_10"]


def test_the_parent_run_has_the_figures_of_the_recommended_trial_and_of_the_holdout(there: Any) -> None:
    parent, found = all_runs(there)[0], verdict()
    taken = recommended(there)
    assert taken.data.metrics.items() <= parent.data.metrics.items()
    (standing,) = (one for one in found["standings"] if one["trial_id"] == found["recommended"])
    held = {"mean": "holdout_ndcg_10", "low": "holdout_ndcg_10_low", "high": "holdout_ndcg_10_high"}
    assert {part: parent.data.metrics[name] for part, name in held.items()} == standing["holdout"]
    assert (parent.data.metrics["uses"], parent.data.metrics["tied"]) == (1, len(found["tied"]))
    tags = {name: parent.data.tags[name] for name in ("first", "first.trial", "first.why", "uses")}
    assert list(tags.values()) == [found["recommended_name"], found["recommended"], found["why"], "1"]
    assert len(parent.data.tags["tied"].split("; ")) == len(found["tied"])


def test_the_parent_run_has_what_to_expect_of_the_choice_and_a_contradiction() -> None:
    standing = Standing("a", "trial a", Mean(0.7), True)
    found = Winner("a", "a", ("a",), "", (standing,), expected=Mean(0.6, 0.5, 0.7), among=9, before=3, contradiction="No.")
    figures = trial_results.verdict_figures(found, Objective.parse("ndcg@10", ["ndcg@10"]))
    assert [figures[name] for name in ("chosen_among", "of_other_sweeps", "expected_ndcg@10_low")] == [9.0, 3.0, 0.5]
    assert trial_results.verdict_tags(found)["contradiction"] == "No."
