"""A sweep in MLflow: columns of trials, the parent run, and questions of the recommended trial as traces."""

import contextlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect
from support.command_line import Verb, verb
from support.gate_experiment import write_gated, write_many
from support.mlflow_process import mlflow_process

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


def traces_of(client: Any, run: Any) -> list[Any]:
    return list(client.search_traces(locations=[run.info.experiment_id], run_id=run.info.run_id, max_results=500))


def verdict() -> dict[str, Any]:
    return dict(json.loads(Path("reports/study/verdict.json").read_text("utf-8"))["winner"])


def artifact(run: Any, name: str) -> Any:
    return json.loads((Path(run.info.artifact_uri.removeprefix("file://")) / name).read_text("utf-8"))


def feedback(trace: Any) -> dict[str, Any]:
    return {found.name: found.value for found in trace.info.assessments if found.feedback}


def expected(trace: Any) -> dict[str, Any]:
    return {found.name: found.value for found in trace.info.assessments if found.expectation}


def test_a_trial_has_the_metrics_of_the_experiment_with_intervals_and_few_params(there: Any) -> None:
    for run in all_runs(there)[1]:
        means = {"ndcg_10", "recall_5"}  # token_f1 has no value: the golden set has no answers
        ends = {f"{name}_{end}" for name in means for end in ("low", "high")}
        assert run.data.metrics.keys() == means | ends | MEASURED | FOUND
        assert {run.data.metrics[name] for name in FOUND} == {0.0}, "every question has its answer in the documents"
        low, high = (run.data.metrics[f"ndcg_10_{end}"] for end in ("low", "high"))
        assert low <= run.data.metrics["ndcg_10"] <= high
        params = {"passage": "plain", "index": "bm25s", "fusion": "single", "reranker": "none", "selector": "none"}
        params |= {"generator": "extractive", "chunker": "wide" if run.info.run_name == "wide" else "narrow"}
        assert run.data.params == params | {"k": "5", "split": "tune"}
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


def test_every_question_of_the_recommended_trial_and_its_rival_is_a_trace(there: Any) -> None:
    golden = [json.loads(line) for line in Path("golden/questions.jsonl").read_text("utf-8").splitlines()]
    tune = {line["id"]: line for line in golden if line["split"] == "tune"}
    run = recommended(there)
    traces = traces_of(there, run)
    table = artifact(run, "questions.json")
    rows = {row[0]: dict(zip(table["columns"], row, strict=True)) for row in table["data"]}
    assert {trace.info.client_request_id for trace in traces} == tune.keys(), "questions of the holdout stay closed"
    assert [trace.info.client_request_id for trace in traces] == [row[0] for row in table["data"]]
    for trace in traces:
        line, row = tune[trace.info.client_request_id], rows[trace.info.client_request_id]
        assert feedback(trace) == {"ndcg_10": row["ndcg@10"], "recall_5": row["recall@5"]}
        quote = line["evidence"][0]["any"][0]
        assert expected(trace) == {"evidence": [f"{quote['doc']}: {quote['quote']}"]}
        assert (trace.info.tags["split"], trace.info.tags["kind"]) == ("tune", line["kind"])
        root, search, answer = trace.data.spans
        assert (root.parent_id, search.parent_id, answer.parent_id) == (None, root.span_id, root.span_id)
        assert (root.inputs, root.outputs["answer"]) == ({"question": line["text"]}, row["answer"])
        assert search.span_type == "RETRIEVER"
        for passage in search.outputs:
            place, _, span = passage["id"].rpartition(":")
            start, end = map(int, span.split("-"))
            assert passage["page_content"] == (Path("golden/documents") / place).read_text("utf-8")[start:end]
    mean = sum(feedback(trace)["ndcg_10"] for trace in traces) / TUNE
    assert mean == pytest.approx(run.data.metrics["ndcg_10"])
    assert [len(traces_of(there, each)) for each in all_runs(there)[1]] == [TUNE, TUNE]


def test_a_failed_sending_of_traces_is_reported_and_an_interrupted_one_resumed(there: Any, rag: Verb) -> None:
    from mlflow.exceptions import MlflowException
    from mlflow.tracing.client import TracingClient

    start, begun = TracingClient.start_trace, []

    def refuse(*_: object) -> None:
        raise MlflowException("traces are switched off here\nand more")

    def until_killed(self: Any, info: Any) -> Any:
        begun.append(info.trace_id)
        if len(begun) == TUNE // 2:
            raise KeyboardInterrupt
        return start(self, info)

    there.set_tag(recommended(there).info.run_id, "assay.traces", "")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TracingClient, "start_trace", refuse)
        said = rag("sweep", "study.yaml")
    assert said.code == 0
    (line,) = (line for line in said.err.splitlines() if "MLflow" in line)
    assert line.startswith("The trials are in MLflow, the questions of the recommended one are not: sqlite:///")
    assert "traces are switched off here; later: rag study track study.yaml" in line
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TracingClient, "start_trace", until_killed)
        assert rag("track", "study.yaml").code != 0
    experiment = [recommended(there).info.experiment_id]
    assert len(there.search_traces(locations=experiment, include_spans=False)) == TUNE // 2 - 1 + TUNE, "its rival has all"
    assert rag("track", "study.yaml").code == 0
    traces = traces_of(there, recommended(there))
    assert len({trace.info.client_request_id for trace in traces}) == len(traces) == TUNE
    assert {len(trace.data.spans) for trace in traces} == {3}
    assert {len(trace.info.assessments) for trace in traces} == {3}
    parent = all_runs(there)[0]
    histories = [there.get_metric_history(parent.info.run_id, name) for name in parent.data.metrics]
    assert {len(history) for history in histories} == {1}, "no value is sent twice"


def test_pages_of_mlflow_compare_the_trials_and_two_of_them_by_question(
    there: Any, swept: Path, browser: Browser, rag: Verb, monkeypatch: pytest.MonkeyPatch
) -> None:
    stores = ("--workers", "1", "--backend-store-uri", there.tracking_uri)
    with mlflow_process("server", *stores, folder=swept, ping="health") as url:
        monkeypatch.setenv("MLFLOW_TRACKING_URI", url)
        (trials, table), (pair, questions) = (line.split(f": {url}/") for line in rag("ui").out.splitlines())
        assert (trials, pair) == ("study", "study, question by question")
        best, other = sorted(all_runs(there)[1], key=lambda run: -run.data.metrics["ndcg_10"])
        page = browser.new_page(viewport={"width": 1800, "height": 800})
        page.goto(f"{url}/{table}")
        expect(page.locator(".ag-root a[href*='/runs/']")).to_have_text([best.info.run_name, other.info.run_name])
        values = [f"{run.data.metrics['ndcg_10']:.4g}" for run in (best, other)]
        expect(page.locator("[role=gridcell][col-id='metrics.`ndcg_10`']")).to_contain_text(values)
        page.goto(f"{url}/{table.replace('TABLE', 'CHART')}")
        expect(page.get_by_text("Parallel Coordinates")).to_be_visible()
        page.goto(f"{url}/{questions}")
        expect(page.get_by_text("What does the amber lantern cost?").first).to_be_visible()
        difference = best.data.metrics["ndcg_10"] - other.data.metrics["ndcg_10"]
        expect(page.get_by_text(f"+{difference:.2f}").first).to_be_visible()
        page.close()
