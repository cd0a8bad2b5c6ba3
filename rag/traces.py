"""Questions of a trial as traces in MLflow, so that its evaluation view shows them: passages, answer, expectation, scores.

MLflow takes about 10 ms for a trace: only some trials are sent so, and `LIMIT` questions of each.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from rag import tracked, tracking
from rag.identity import digest
from rag.redaction import plain, shown

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Assessment, Run, Span, TraceInfo

LIMIT = 250
"""Questions of a trial, at most; questions.json holds all."""
LONGEST_TEXT = 2000
"""Characters of a passage, an answer or a quote."""
BATCH = 100
"""Traces in one request."""
TAG = "assay.traces"


@dataclass(frozen=True)
class Passage:
    """A passage that a question was answered from: its text, its document, its chunk_id and the score that ranked it."""

    text: str
    doc_id: str
    chunk_id: str
    score: float


@dataclass(frozen=True)
class QuestionRecord:
    """What a trial did with one question: `scores` by metric as typed, without those that do not apply.

    `answer` is None where nothing was generated. `expected` are the gold answers, `evidence` the gold quotes with their
    documents; `tags` say where the question belongs.
    """

    query_id: str
    text: str
    passages: Sequence[Passage]
    answer: str | None
    scores: Mapping[str, float]
    expected: Sequence[str] = ()
    evidence: Sequence[tuple[str, str]] = ()
    unanswerable: bool = False
    failed: bool = False
    history: Sequence[tuple[str, str]] = ()
    tags: Mapping[str, str] = field(default_factory=dict)


def send(record: tracking.SweepRecord, parent: str, questions: Mapping[str, Sequence[QuestionRecord]], uri: str) -> None:
    """Send questions of trials that stand below a parent run, by trial id.

    A run whose tag says that the same questions are there is left alone. Otherwise the traces of an earlier sending, whole or
    broken off, are replaced. ServiceError if MLflow cannot take them.
    """
    with tracking.told(uri, record.experiment), tracked.alone(uri):
        client = tracking.client_of(uri)
        experiment = tracking.experiment_of(client, uri, record.experiment)
        there = tracking.sent_trials(client, experiment, parent)
        for trial in (trial for trial in record.trials if questions.get(trial.trial_id)):
            run = there.get((trial.trial_id, tracked.config_digest(trial), trial.status))
            asked = questions[trial.trial_id][:LIMIT]
            state = digest([asdict(question) for question in asked])
            if run and run.data.tags.get(TAG) != state:
                _send(client, run, asked)
                client.set_tag(run.info.run_id, TAG, state)


def _send(client: "MlflowClient", run: "Run", asked: Sequence[QuestionRecord]) -> None:
    from mlflow.tracing.client import TracingClient

    experiment, tracing = run.info.experiment_id, TracingClient(client.tracking_uri)
    # MLflow lists the newest first, so an earlier question has a later time, in ms.
    timed = [(run.info.start_time + len(asked) - place, question) for place, question in enumerate(asked)]
    for begin in range(0, len(timed), BATCH):
        batch = timed[begin : begin + BATCH]
        client.delete_traces(experiment, trace_ids=[_trace_id(run, question) for _, question in batch])
        for time, question in batch:
            tracing.start_trace(_info(run, question, time))
        tracing.log_spans(experiment, [span for time, question in batch for span in _spans(run, question, time)])


def _trace_id(run: "Run", question: QuestionRecord) -> str:
    return f"tr-{digest(run.info.run_id, question.query_id)[:32]}"


def _info(run: "Run", question: QuestionRecord, time: int) -> "TraceInfo":
    """A trace without its spans."""
    from mlflow.entities import TraceInfo, TraceLocation, TraceState

    outputs = _outputs(question)
    return TraceInfo(
        _trace_id(run, question),
        TraceLocation.from_experiment_id(run.info.experiment_id),
        time,
        TraceState.ERROR if question.failed else TraceState.OK,
        request_preview=_text(question.text)[:1000],
        response_preview=str(outputs.get("answer") or "; ".join(outputs["passages"]))[:1000],
        client_request_id=question.query_id,
        trace_metadata={"mlflow.sourceRun": run.info.run_id},
        tags={"mlflow.traceName": "question", **tracked.fitting(question.tags, tracked.LONGEST_TAG)},
        assessments=list(_assessments(run, question)),
    )


def _assessments(run: "Run", question: QuestionRecord) -> Iterator["Assessment"]:
    from mlflow.entities import AssessmentSource, Expectation, Feedback

    of_run = {"mlflow.assessment.sourceRunId": run.info.run_id}
    code, people = AssessmentSource("CODE", "assay"), AssessmentSource("HUMAN", "golden set")
    for name, value in question.scores.items():
        yield Feedback(tracked.metric_name(name), value, source=code, metadata=of_run)
    if question.expected or question.unanswerable:
        expected = " | ".join(question.expected) or "The documents cannot answer this."
        yield Expectation("expected_response", _text(expected), source=people, metadata=of_run)
    if question.evidence:
        gold = [f"{doc_id}: {_text(quote)}" for doc_id, quote in question.evidence]
        yield Expectation("evidence", gold, source=people, metadata=of_run)


def _spans(run: "Run", question: QuestionRecord, time: int) -> Iterator["Span"]:
    found = [
        {"id": one.chunk_id, "page_content": _text(one.text), "metadata": {"doc_uri": one.doc_id, "score": one.score}}
        for one in question.passages
    ]
    trace_id, outputs = _trace_id(run, question), _outputs(question)
    steps = [("question", "CHAIN", outputs), ("search", "RETRIEVER", found), ("answer", "LLM", outputs.get("answer"))]
    for name, kind, output in steps[: 2 if question.answer is None else 3]:
        given = {"spanType": kind, "spanInputs": _inputs(question), "spanOutputs": output}
        yield _span(trace_id, name, time * 1_000_000, question.failed, given)


def _span(trace_id: str, name: str, began: int, failed: bool, given: Mapping[str, Any]) -> "Span":
    from mlflow.entities import Span

    root = name == "question"
    attributes = {"traceRequestId": trace_id, **given}
    return Span.from_dict(
        {
            "trace_id": trace_id,
            "span_id": digest(trace_id, name)[:16],
            "parent_span_id": None if root else digest(trace_id, "question")[:16],
            "name": name,
            "start_time_unix_nano": began,
            "end_time_unix_nano": began,
            "status": {"code": "STATUS_CODE_ERROR" if failed and root else "STATUS_CODE_OK", "message": ""},
            "attributes": {f"mlflow.{key}": json.dumps(plain(value), ensure_ascii=False) for key, value in attributes.items()},
            "events": [],
        }
    )


def _inputs(question: QuestionRecord) -> dict[str, Any]:
    history = [{"role": role, "content": _text(text)} for role, text in question.history]
    return {"question": _text(question.text)} | ({"history": history} if history else {})


def _outputs(question: QuestionRecord) -> dict[str, Any]:
    answer = {} if question.answer is None else {"answer": _text(question.answer)}
    return answer | {"passages": [one.chunk_id for one in question.passages]}


def _text(text: str) -> str:
    return shown("", text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 1] + "…")
