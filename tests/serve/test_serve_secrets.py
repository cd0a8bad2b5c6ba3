"""The key that the server itself has for a model never comes back, whatever that model says of it."""

from pathlib import Path

import pytest
from support.live_server import live
from support.scripted_server import error, serving
from support.small_server import QUESTION, small_bundle

from rag.serve.loaded_bundles import Served
from rag.serve.problems import problem

SECRET = "hush-Wombat-4711"


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("path", ["/ask", "/v1/chat/completions"])
@pytest.mark.parametrize("status", [401, 500])
def test_a_model_that_repeats_its_key_is_not_quoted_with_it(
    status: int, path: str, stream: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    with serving(error(status, f"Incorrect API key provided: {SECRET}.", {"x-should-retry": "false"})) as script:
        bundle = small_bundle(tmp_path / "b", "generator=openai", f"generator.base_url={script.url}", "generator.model=m")
        with live(Served([bundle]), tmp_path / "serve.db") as server:
            asked = {"question": QUESTION, "stream": stream}
            if path.startswith("/v1"):
                asked = {"model": "default", "messages": [{"role": "user", "content": QUESTION}], "stream": stream}
            told = server.post(path, **asked).text
            figures = server.client.get("/metrics").text
    assert script.keys[0] == f"Bearer {SECRET}"
    assert "Incorrect API key provided" in told
    assert SECRET not in told
    assert SECRET not in figures
    assert SECRET not in "".join(capfd.readouterr())


def test_no_problem_tells_what_looks_like_a_password() -> None:
    told = problem(502, f"http://me:{SECRET}@model/v1: says sk-{'a' * 20} is wrong", "mend it")
    assert told["detail"] == "http://***@model/v1: says *** is wrong"
