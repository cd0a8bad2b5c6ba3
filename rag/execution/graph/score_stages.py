"""The stages that score: judged rankings and answers, and several answers to each question."""

from collections.abc import Callable, Mapping
from dataclasses import asdict

from rag.evaluation import scoring
from rag.evaluation.answer_judging import AskingMetric, Counted, asked_of
from rag.evaluation.scores import averaged
from rag.execution.graph.stage_inputs import Job
from rag.execution.store.store import Entry


def run_score(job: Job) -> Entry:
    """Judged rankings and answers → scores per question, and their means with intervals."""
    metrics = {name: job.components.build(node, f"metric.{name}") for name, node in job.nodes["metrics"].items()}
    judged = scoring.Judged.from_arrays(job.inputs["judge"].arrays)
    columns, k, examples, answers = job.values["columns"], job.values.get("k", 1), job.golden.examples, job.answers()
    cut = scoring.budgets(job.ranking, job.corpus, examples, job.values["coverage"]) if "ranking" in job.inputs else None
    scores = scoring.score(judged, answers, examples, metrics, columns, k, assessments=job.assessments(), budgets=cut)
    asked = {name: metric for name, metric in metrics.items() if answers and isinstance(metric, AskingMetric)}
    values = {name: scores.column(name).tolist() for name in asked}
    counts = {name: asdict(asked_of(metric, values[name], examples, answers or ())) for name, metric in asked.items()}
    return Entry(scores.to_arrays(), {"summary": scoring.summarise(scores, examples).to_json(), "asked": counts})


def run_average(job: Job) -> Entry:
    """Scores of several answers to each question → their means, and how much they vary inside questions."""
    entries = list(job.inputs.values())
    scores, within = averaged([scoring.Scores.from_arrays(entry.arrays) for entry in entries])
    summary = scoring.summarise(scores, job.golden.examples).to_json()
    for column, spread in within.items():
        summary["columns"][column]["within"] = spread
    counts = [entry.meta["asked"] for entry in entries]
    asked = {name: asdict(sum((Counted(**each[name]) for each in counts), Counted())) for name in counts[0]}
    return Entry(scores.to_arrays(), {"summary": summary, "asked": asked})


SCORE_RUNNERS: Mapping[str, Callable[[Job], Entry]] = {"score": run_score, "average": run_average}
"""The function of each of these stages, by the name of the stage."""
