"""Questions of a trial as traces for MLflow's evaluation view; a limit, because MLflow takes about 10 ms for each."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from rag.config.identity import digest
from rag.core.progress import blocks
from rag.core.redaction import redacted_json
from rag.tracking import mlflow_client, run_content
from rag.tracking.connection import connected

if TYPE_CHECKING:
    from mlflow.entities import Assessment, Run, Span, TraceInfo

LIMIT = 250
"""Most questions of a trial; questions.json holds all."""
BATCH = 100
"""Most traces in one request."""
PREVIEW = 1000
"""Most characters of a question or an answer in lists."""
TAG = "assay.traces"


@dataclass(frozen=True)
class TracedQuestion:
    """The results of a trial for one question.

    `inputs` are the question and the conversation before it, `outputs` the passages by chunk_id and the answer if there is one.
    `documents` are the passages in MLflow's form, `scores` the metrics that apply, by column, `expectations` the gold.
    """

    query_id: str
    inputs: Mapping[str, Any]
    outputs: Mapping[str, Any]
    scores: Mapping[str, float]
    documents: Sequence[Mapping[str, Any]] = ()
    expectations: Mapping[str, Any] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    failed: bool = False


def send(record: run_content.SweepRun, parent: str, questions: Mapping[str, Sequence[TracedQuestion]], uri: str) -> None:
    """Send questions, by trial id, to the runs below a parent run.

    A run that has the same questions, as its tag says, is left alone; traces of an earlier, perhaps unfinished, sending are
    replaced. ServiceError if MLflow cannot take them.
    """
    with connected(uri, record.experiment) as client:
        experiment = mlflow_client.experiment_of(client, uri, record.experiment)
        there = mlflow_client.sent_trials(client, experiment, parent)
        for trial in (trial for trial in record.trials if questions.get(trial.trial_id)):
            run = there.get((trial.trial_id, run_content.config_digest(trial), trial.status))
            records = questions[trial.trial_id][:LIMIT]
            state = digest([asdict(question) for question in records])
            if run and run.data.tags.get(TAG) != state:
                _send(client.tracking_uri, run, records)
                client.set_tag(run.info.run_id, TAG, state)


def _send(uri: str, run: "Run", records: Sequence[TracedQuestion]) -> None:
    from mlflow.tracing.client import TracingClient

    experiment, client = run.info.experiment_id, TracingClient(uri)
    # MLflow lists the newest first, so an earlier question has a later time, in ms.
    timed = [(run.info.start_time + len(records) - place, question) for place, question in enumerate(records)]
    for batch in blocks(timed, "questions sent to MLflow", BATCH):
        client.delete_traces(experiment, trace_ids=[_trace_id(run, question) for _, question in batch])
        for time, question in batch:
            client.start_trace(_info(run, question, time))
        client.log_spans(experiment, [span for time, question in batch for span in _spans(run, question, time)])


def _trace_id(run: "Run", question: TracedQuestion) -> str:
    return f"tr-{digest(run.info.run_id, question.query_id)[:32]}"


def _info(run: "Run", question: TracedQuestion, time: int) -> "TraceInfo":
    from mlflow.entities import TraceInfo, TraceLocation, TraceState

    outputs = redacted_json(question.outputs)
    return TraceInfo(
        _trace_id(run, question),
        TraceLocation.from_experiment_id(run.info.experiment_id),
        time,
        TraceState.ERROR if question.failed else TraceState.OK,
        request_preview=redacted_json(question.inputs)["question"][:PREVIEW],
        response_preview=str(outputs.get("answer") or "; ".join(outputs["passages"]))[:PREVIEW],
        client_request_id=question.query_id,
        trace_metadata={"mlflow.sourceRun": run.info.run_id},
        tags={"mlflow.traceName": "question", **run_content.fitting(question.tags, run_content.LONGEST_TAG)},
        assessments=list(_assessments(run, question)),
    )


def _assessments(run: "Run", question: TracedQuestion) -> Iterator["Assessment"]:
    from mlflow.entities import AssessmentSource, Expectation, Feedback

    of_run = {"mlflow.assessment.sourceRunId": run.info.run_id}
    code, people = AssessmentSource("CODE", "assay"), AssessmentSource("HUMAN", "golden set")
    for name, score in question.scores.items():
        yield Feedback(run_content.metric_name(name), score, source=code, metadata=of_run)
    for name, gold in redacted_json(question.expectations).items():
        yield Expectation(name, gold, source=people, metadata=of_run)


def _spans(run: "Run", question: TracedQuestion, time: int) -> Iterator["Span"]:
    """The steps of a question, all at `time` (ms): how long each took is not known."""
    from mlflow.entities import Span

    trace_id, outputs = _trace_id(run, question), question.outputs
    steps = [
        ("question", "CHAIN", outputs),
        ("search", "RETRIEVER", question.documents),
        ("answer", "LLM", outputs.get("answer")),
    ]
    root = digest(trace_id, "question")[:16]
    for name, kind, output in steps[: 3 if "answer" in outputs else 2]:
        attributes = {"traceRequestId": trace_id, "spanType": kind, "spanInputs": question.inputs, "spanOutputs": output}
        content: dict[str, Any] = {
            "trace_id": trace_id,
            "span_id": digest(trace_id, name)[:16],
            "parent_span_id": None if name == "question" else root,
            "name": name,
            "start_time_unix_nano": time * 1_000_000,
            "end_time_unix_nano": time * 1_000_000,
            "status": {"code": f"STATUS_CODE_{'ERROR' if question.failed else 'OK'}", "message": ""},
            "attributes": {
                f"mlflow.{key}": json.dumps(redacted_json(value), ensure_ascii=False) for key, value in attributes.items()
            },
            "events": [],
        }
        yield Span.from_dict(content)
