"""What a server refuses or cannot do: problems with a remedy, without texts and keys."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from support.scripted_server import Script, cut, error, hang_up, say, send, serving, slow, too_long, too_many, wrong_key
from support.servers import Server, running
from support.small_server import QUESTION, chat_request, small_bundle

from rag.serve.problems import problem

SECRET = "hush-Wombat-4711"
MEMBERS = {"type", "title", "status", "detail", "remedy"}


@pytest.fixture(scope="module")
def script() -> Iterator[Script]:
    """The model of the server."""
    with serving(say("At seven [1].")) as found:
        yield found


@pytest.fixture(scope="module")
def server(script: Script, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server whose model is scripted and needs a key."""
    folder = tmp_path_factory.mktemp("problems")
    bundle = small_bundle(folder / "b", "generator=openai", f"generator.base_url={script.url}", "generator.model=m")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", SECRET)
        with running([bundle], folder / "serve.db") as found:
            yield found


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/ask", {}, 422),
        ("/ask", {"question": " \n"}, 422),
        ("/ask", {"question": "x", "stram": True}, 422),
        ("/ask", {"question": "x", "model": "best"}, 404),
        ("/ask", {"question": "x", "within": {"documents": ["tram.md"]}}, 422),
        ("/ask", {"question": "x", "within": {"whole": ["tram.md"]}}, 422),
        ("/ask", {"question": "x", "within": {"range": {"doc_id": "bus.md", "start": 5, "end": 4000}}}, 422),
        ("/ask", {"question": "x", "within": {"metadata": {"colour": ["red"]}}}, 422),
        ("/ask", {"question": "x", "prompt": [{"role": "user", "content": " \x00"}]}, 422),
        ("/ask", {"question": QUESTION, "prompt": [{"role": "user", "content": "x"}], "read": ["bus.md:0-1"]}, 422),
        ("/search", {"question": "x", "k": 0}, 422),
        ("/chat", {"question": "x", "session": "ses_" + "0" * 32}, 404),
        ("/feedback", {"answer": "ans_" + "0" * 24, "rating": 1}, 404),
        *(
            ("/feedback", {"answer": "x", "rating": 1} | wrong, 422)
            for wrong in ({"rating": 0}, {"rating": 2}, {"rating": "1"}, {"comment": "x" * 4001}, {"more": 1})
        ),
    ],
)
def test_a_refusal_is_a_problem_with_a_remedy(server: Server, path: str, body: dict[str, Any], status: int) -> None:
    response = server.post(path, **body)
    assert (response.status_code, response.headers["content-type"]) == (status, "application/problem+json")
    found = response.json()
    assert (set(found), found["status"], bool(found["remedy"])) == (MEMBERS, status, True)
    assert len(response.headers["x-assay-bundle"]) == 64


@pytest.mark.parametrize("path", ["/nothing", "/documents/tram.md", "/documents/../secrets", "/v1/models/best", "/sessions/x"])
def test_a_missing_resource_is_a_problem(server: Server, path: str) -> None:
    response = server.client.get(path)
    assert response.status_code == 404
    assert set(response.json()) == ({"error"} if path.startswith("/v1/") else MEMBERS)


def test_invalid_json_is_refused_without_repeating_it(server: Server) -> None:
    response = server.client.post("/ask", content=b'{"question": "my secret', headers={"content-type": "application/json"})
    assert response.status_code == 422
    assert "secret" not in response.text


BUSY = error(503, "overloaded", {"x-should-retry": "false"})


@pytest.mark.parametrize(
    ("step", "status"),
    [
        *((hang_up, 502), (BUSY, 502), (wrong_key(), 502), (too_long(), 422), (cut("The ferry "), 502), (too_many(7.5), 503)),
        *((say("<think>Hm"), 422), (say(None, tool_calls=[1]), 422), (send(200, b"<html>" * 9_000), 502)),
        *((say(None, refusal=f"No: {SECRET}"), 422), (say("x" * 60_000), 422)),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_a_model_that_fails_is_a_problem_and_search_works(
    server: Server, script: Script, step: Any, status: int, stream: bool
) -> None:
    script.steps = [step]
    response = server.post("/ask", question=QUESTION, stream=stream)
    if stream:
        assert response.status_code == 200
        assert f'"status":{status}' in response.text.rpartition("event: error")[2]
    else:
        assert response.status_code == status
        assert response.json()["remedy"]
        assert response.headers.get("retry-after") == ("8" if status == 503 else None)
    told = response.text.rpartition("event: error")[2]
    assert [words for words in (SECRET, script.url, "overloaded", "maximum context", "<html>", "Rate") if words in told] == []
    assert server.payload("/search", question=QUESTION)["passages"]
    script.steps = [say("At seven [1].")]
    assert server.payload("/ask", question=QUESTION)["answer"] == "At seven [1]."


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("path", ["/ask", "/v1/chat/completions"])
@pytest.mark.parametrize("status", [401, 500])
def test_the_key_of_the_model_is_never_repeated(
    server: Server, script: Script, status: int, path: str, stream: bool, capfd: pytest.CaptureFixture[str]
) -> None:
    script.steps = [error(status, f"Incorrect API key provided: {SECRET}.", {"x-should-retry": "false"})]
    body = chat_request(QUESTION, stream=stream) if path.startswith("/v1") else {"question": QUESTION, "stream": stream}
    text = server.post(path, **body).text
    assert script.keys[-1] == f"Bearer {SECRET}"
    assert f"answered {status}" in text
    assert "Incorrect API key provided" not in text
    for output in (text, server.client.get("/metrics").text, *capfd.readouterr()):
        assert SECRET not in output


def test_eight_clients_of_a_slow_model_are_all_answered(server: Server, script: Script) -> None:
    script.steps = [slow(0.2, say("At seven [1]."))]
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda number: server.payload("/ask", question=f"{QUESTION} {number}"), range(8)))
    assert [answer["answer"] for answer in answers] == ["At seven [1]."] * 8


def test_passwords_in_a_problem_are_hidden() -> None:
    found = problem(502, f"http://me:{SECRET}@model/v1: says sk-Zq3vT8mK1xLp0RwY7uBd is wrong", "fix it")
    assert "Zq3v" not in found["detail"]
    assert found["detail"].startswith("http://me:[redacted: url-password]@model/v1: says [redacted: ")
