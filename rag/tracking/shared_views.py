"""Views of a sweep in MLflow: its trials in a table and charts, and two of them question by question."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from rag.execution.sweep import objective
from rag.tracking import evaluation_traces
from rag.tracking.connection import client_of, explain_errors, later
from rag.tracking.run_content import metric_name

TAG = "mlflow.sharedViewState."
USUAL = ("ndcg", "recall", "mrr", "faithfulness", "latency_p95")
"""First words of the metrics with a column, after the objective."""
SWEEPS, CHOICES, LONGEST = 5, 8, 60
"""Most sweeps with a view, most choices in it, and most characters of their names: MLflow keeps 5,000 characters of a view."""


def share(uri: str) -> list[tuple[str, str]]:
    """Keep a view of the last sweep of each experiment there; names and paths, newest first. ServiceError without MLflow."""
    with explain_errors(uri, later("EXPERIMENT")):
        client, newest = client_of(uri), dict[str, Any]()
        known = [each.experiment_id for each in client.search_experiments()]
        for run in client.search_runs(known, "tags.`assay.sweep` != ''", order_by=["attributes.end_time DESC"]):
            newest.setdefault(run.info.experiment_id, run)
        return [view for run in list(newest.values())[:SWEEPS] for view in _shared(client, run)]


def _shared(client: Any, sweep: Any) -> Iterator[tuple[str, str]]:
    experiment, key = sweep.info.experiment_id, sweep.info.run_id
    trials = client.search_runs([experiment], f"tags.`mlflow.parentRunId` = '{key}'")
    client.set_experiment_tag(experiment, TAG + key, json.dumps(_state(sweep, trials), ensure_ascii=False))
    page = f"/#/experiments/{experiment}"
    yield sweep.info.run_name, f"{page}/runs?viewStateShareKey={key}&compareRunsMode=TABLE"
    traced = [run for run in trials if evaluation_traces.TAG in run.data.tags]
    traced.sort(key=lambda run: run.data.tags.get("verdict") not in ("recommended", "first"))
    if len(traced) > 1:
        pair = "&compareToRunUuid=".join(run.info.run_id for run in traced[:2])
        yield f"{sweep.info.run_name}, question by question", f"{page}/evaluation-runs?selectedRunUuid={pair}"


def _state(sweep: Any, trials: Sequence[Any]) -> dict[str, Any]:
    """The state of MLflow's page of runs: only the trials, best first, with the choices that differ and the usual metrics."""
    text = sweep.data.params.get("objective", "")
    aim = objective.Objective.parse(text, [objective.USUAL, *re.split(r"[\s,*]+", text)])
    measured = sorted({name for run in trials for name in run.data.metrics if not name.endswith(("_low", "_high"))})
    first = "objective" if aim.summed else metric_name(aim.column)
    first = first if first in measured else next(iter(measured), first)
    shown = {first: None, **{name: None for word in USUAL for name in [n for n in measured if n.startswith(word)][:1]}}
    given = {name: {run.data.params.get(name) for run in trials} for one in trials for name in one.data.params}
    choices = sorted(name for name, values in given.items() if len(values) > 1 and len(name) <= LONGEST)[:CHOICES]
    columns = [*(f"params.`{name}`" for name in choices), *(f"metrics.`{name}`" for name in shown), "tags.`verdict`"]
    charts: list[dict[str, Any]] = [{"type": "BAR", "metricKey": name} for name in shown]
    charts += [{"type": "PARALLEL", "selectedParams": choices, "selectedMetrics": [first]}] if choices else []
    return {
        "searchFilter": f"tags.`mlflow.parentRunId` = '{sweep.info.run_id}'",
        "orderByKey": f"metrics.`{first}`",
        "orderByAsc": aim.sign < 0,
        **dict.fromkeys(("selectedColumns", "columnOrder"), columns),
        "runsHiddenMode": "SHOW_ALL",
        # MLflow adds charts of all other metrics to the second section.
        "compareRunSections": [
            {"uuid": each, "name": each, "display": each == "Trials"} for each in ("Trials", "Model metrics")
        ],
        "compareRunCharts": [{"uuid": f"assay-{n}", "metricSectionId": "Trials", **chart} for n, chart in enumerate(charts)],
    }
