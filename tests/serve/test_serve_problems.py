"""What a server refuses or cannot do: problems with what would do, and no words of those who ask."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.live_server import Live, live
from support.scripted_server import error, hang_up, say, serving, too_long, wrong_key
from support.small_server import QUESTION, small_bundle

from rag.serve import response_models
from rag.serve.loaded_bundles import Served


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """A server of one bundle."""
    folder = tmp_path_factory.mktemp("problems")
    with live(Served([small_bundle(folder / "b", "generator=extractive")]), folder / "serve.db") as found:
        yield found


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/ask", {}, 422),
        ("/ask", {"question": ""}, 422),
        ("/ask", {"question": " \n"}, 422),
        ("/ask", {"question": "x" * 8001}, 422),
        ("/ask", {"question": "x", "stram": True}, 422),
        ("/ask", {"question": "x", "model": "best"}, 404),
        ("/ask", {"question": "x", "within": {"documents": ["tram.md"]}}, 422),
        ("/ask", {"question": "x", "within": {"whole": ["tram.md"]}}, 422),
        ("/ask", {"question": "x", "within": {"range": {"doc_id": "bus.md", "start": 5, "end": 4000}}}, 422),
        ("/ask", {"question": "x", "within": {"tags": {"colour": ["red"]}}}, 422),
        ("/search", {"question": "x", "k": 0}, 422),
        ("/chat", {"question": "x", "session": "ses_" + "0" * 32}, 404),
        ("/chat", {"question": "x", "session": "' OR 1=1"}, 404),
        ("/feedback", {"answer": "ans_" + "0" * 24, "rating": 1}, 404),
        ("/feedback", {"answer": "x", "rating": 2}, 422),
    ],
)
def test_what_is_refused_says_what_would_do(server: Live, path: str, body: dict[str, Any], status: int) -> None:
    response = server.post(path, **body)
    assert (response.status_code, response.headers["content-type"]) == (status, "application/problem+json")
    found = response_models.Problem.model_validate_json(response.content, strict=True)
    assert found.status == status
    assert found.remedy
    assert len(response.headers["x-assay-bundle"]) == 64


@pytest.mark.parametrize("path", ["/nothing", "/documents/tram.md", "/documents/../secrets", "/v1/models/best", "/sessions/x"])
def test_what_is_not_there_is_a_problem_too(server: Live, path: str) -> None:
    response = server.client.get(path)
    assert response.status_code == 404
    assert set(response.json()) == ({"error"} if path.startswith("/v1/") else set(response_models.Problem.model_fields))


def test_a_body_that_is_no_json_is_refused_without_repeating_it(server: Live) -> None:
    response = server.client.post("/ask", content=b'{"question": "my secret', headers={"content-type": "application/json"})
    assert response.status_code == 422
    assert "secret" not in response.text


@pytest.mark.parametrize(
    ("step", "status"),
    [(hang_up, 502), (error(503, "overloaded", {"x-should-retry": "false"}), 502), (wrong_key(), 502), (too_long(), 422)],
    ids=["gone", "overloaded", "wrong key", "too long"],
)
@pytest.mark.parametrize("stream", [False, True])
def test_a_model_that_does_not_answer_is_told_and_search_works(tmp_path: Path, step: Any, status: int, stream: bool) -> None:
    with serving(step) as script:
        bundle = small_bundle(tmp_path / "b", "generator=openai", f"generator.base_url={script.url}", "generator.model=m")
        with live(Served([bundle]), tmp_path / "serve.db") as server:
            response = server.post("/ask", question=QUESTION, stream=stream)
            if stream:
                assert response.status_code == 200
                assert f'"status":{status}' in response.text.rpartition("event: error")[2]
            else:
                assert response.status_code == status
                assert response_models.Problem.model_validate_json(response.content).remedy
            assert server.told("/search", question=QUESTION)["passages"]
            script.steps = [say("At seven [1].")]
            assert server.told("/ask", question=QUESTION)["answer"] == "At seven [1]."
