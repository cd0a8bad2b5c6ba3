"""`mlflow models serve` as a process answers as the bundle does, and a registry on a server works as a local one."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from support.mlflow_process import PATIENCE, mlflow_process
from support.registered_models import QUESTIONS, request

from rag.core.types import Query
from rag.pipeline.shapes.passage_fates import traced_answer
from rag.plugins.mlflow_registry.promote import promote
from rag.plugins.mlflow_registry.register import register


@pytest.fixture
def served(answering: Any, tmp_path: Path) -> Iterator[str]:
    """The address of a process that serves the model of `answering`."""
    arguments = ("models", "serve", "-m", answering.registered.uri, "--env-manager", "local")
    with mlflow_process(*arguments, folder=tmp_path, ping="ping", tracking=answering.client.tracking_uri) as url:
        yield url


def test_a_served_model_answers_as_its_bundle(answering: Any, served: str, tmp_path: Path) -> None:
    pipeline = answering.bundle.pipeline
    for question in QUESTIONS:
        reply = httpx.post(f"{served}/invocations", json={"input": [{"role": "user", "content": question}]}, timeout=PATIENCE)
        assert reply.status_code == 200, reply.text
        query = Query("ask", question)
        trace = pipeline.trace(query)
        expected = traced_answer(pipeline, trace, pipeline.answer_from(query, trace))
        found = reply.json()["custom_outputs"]
        assert found == json.loads(json.dumps({"bundle": answering.bundle.digest, **expected}))
        assert reply.json()["output"][0]["content"][0]["text"] == expected["answer"]
    refused = httpx.post(f"{served}/invocations", json={"input": []}, timeout=PATIENCE)
    assert refused.status_code == 400
    assert "does not end with a message of a user" in refused.text
    log = (tmp_path / "log").read_text("utf-8")
    assert not [question for question in QUESTIONS if question in log]
    assert {path.name for path in tmp_path.iterdir()} <= {"log", "mlflow.db"}, "no trace is kept"


def test_a_registry_behind_http(at_home: Any, server: tuple[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Register, promote and load with an MLflow server that keeps the artifacts too."""
    import mlflow

    monkeypatch.setenv("MLFLOW_TRACKING_URI", server[0])
    narrow, wide = (register(at_home(f"notes-{name}"), "notes") for name in ("narrow", "wide"))
    assert promote("notes", narrow.version).promoted
    promotion = promote("notes")
    assert (promotion.promoted, promotion.verdict, promotion.challenger.number) == (True, "PASS", wide.version)
    assert not promote("notes", narrow.version).promoted
    mlflow.set_tracking_uri(server[0])
    try:
        found = mlflow.pyfunc.load_model("models:/notes@champion").predict(request(QUESTIONS[0]))
    finally:
        mlflow.set_tracking_uri(None)
    assert found["custom_outputs"]["bundle"] == wide.digest
    assert list(server[1].rglob("answering.py"))
