"""Metrics for Prometheus: what is counted and under which names; clients create no series."""

from pathlib import Path

import pytest
from fastapi import FastAPI
from prometheus_client.parser import text_string_to_metric_families
from support.small_server import CANARY, QUESTION, ask, chat_request, small_app


@pytest.fixture
def app(bundle: Path, tmp_path: Path) -> FastAPI:
    """The whole application without keys."""
    return small_app(bundle, tmp_path / "serve.db", rate=0)


def figures(app: FastAPI, **headers: str) -> dict[tuple[str, ...], float]:
    """The metrics: values by name and labels, in the order of the labels' names."""
    found = ask(app, "/metrics", "GET", headers=headers)
    assert found.status_code == 200
    assert found.headers["content-type"].startswith("text/plain; version=1.0.0")
    samples = (sample for family in text_string_to_metric_families(found.text) for sample in family.samples)
    return {(sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value for sample in samples}


def test_requests_and_answers_are_counted(app: FastAPI) -> None:
    questions = (QUESTION, QUESTION, "Who paints the lighthouse?")
    answers = [ask(app, json={"question": question}).json() for question in questions]
    ask(app, "/search", json={"question": QUESTION})
    ask(app, json={})
    ask(app, "/documents/ferry.md", "GET")
    ask(app, "/documents/bus.md", "GET")
    found, model = figures(app), answers[0]["model"]
    assert found["assay_requests_total", "POST", "/ask", "200"] == 3
    assert found["assay_requests_total", "POST", "/ask", "422"] == 1
    assert found["assay_request_seconds_count", "/ask"] == 4
    assert found["assay_first_piece_seconds_count", "/ask"] == 3
    assert found["assay_step_seconds_count", "search"] == 4
    assert found["assay_step_seconds_count", "generate"] == 3
    of_documents = [name for name in found if name[:2] == ("assay_requests_total", "GET") and "documents" in name[2]]
    assert [found[name] for name in of_documents] == [2]
    assert sum(found.get(("assay_answers_total", abstained, model), 0) for abstained in ("true", "false")) == 3
    assert found["assay_cost_usd_total", model] == 0
    assert found["assay_tokens_total", "prompt", model] == sum(answer["tokens"]["prompt"] for answer in answers)
    assert "event: answer" in ask(app, json={"question": QUESTION, "stream": True}).text
    ask(app, "/v1/chat/completions", json=chat_request(QUESTION, stream=True))
    found = figures(app)
    assert sum(value for name, value in found.items() if name[0] == "assay_answers_total") == 5
    assert found["assay_request_seconds_count", "/v1/chat/completions"] == 1


def test_clients_create_no_series(app: FastAPI) -> None:
    before = len(figures(app))
    for number in range(8):
        word = f"{CANARY}-{number}"
        ask(app, f"/{word}", "GET")
        ask(app, f"/documents/{word}", "GET")
        ask(app, "/ask", word.upper())
        ask(app, json={"question": word, "model": word})
        ask(app, f"/page/{word}", "GET")
    found = figures(app)
    assert CANARY not in ask(app, "/metrics", "GET").text
    assert found["assay_requests_total", "GET", "-", "404"] == 8
    assert sum(value for name, value in found.items() if name[:2] == ("assay_requests_total", "OTHER")) == 8
    # Five routes with 20 series each at most, however many names were sent.
    assert len(found) - before < 150
