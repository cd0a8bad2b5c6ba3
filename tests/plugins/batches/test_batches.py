"""Batches of a server with the interfaces of OpenAI and of Anthropic, whose jobs end when a test says so."""

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.costly_sweep import QUESTIONS, ask_of, planned, write_study
from support.scripted_server import Exchange, Script, answer, send, serving

from rag.core.errors import BudgetError, ConfigError, ServiceError
from rag.core.types import Message, Query, Request
from rag.execution.store.budget import Ledger, Terms
from rag.execution.store.cached_replies import StoredGenerator
from rag.execution.store.store import Store
from rag.plugins.batches.generators.batches import AnthropicBatches, OpenAiBatches

FORMS = ("openai", "anthropic")
COUNTS = {"prompt_tokens": 90, "completion_tokens": 10, "input_tokens": 90, "output_tokens": 10}
PRICE = {"prompt": 1000.0, "completion": 1000.0, "batch": 0.5}
Line = dict[str, Any]


class Batches(Exchange):
    """Jobs by their ids in `server.jobs`. They end after `server.needed` looks, with results as `server.given` changes them."""

    server: Any

    def do_POST(self) -> None:  # noqa: N802
        if not self.path.endswith(("/files", "/batches")):
            return super().do_POST()
        sent = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path.endswith("/files"):
            assert re.search(rb'name="purpose"\r\n\r\nbatch\r\n', sent)
            self.server.file = [json.loads(line) for line in sent.splitlines() if line.startswith(b'{"custom_id"')]
            return send(200, {"id": "file-1"})(self)
        body = json.loads(sent)
        if "requests" in body:
            items = {each["custom_id"]: each["params"] for each in body["requests"]}
        else:
            assert body == {"input_file_id": "file-1", "endpoint": "/v1/chat/completions", "completion_window": "24h"}
            assert {(each["method"], each["url"]) for each in self.server.file} == {("POST", "/v1/chat/completions")}
            items = {each["custom_id"]: each["body"] for each in self.server.file}
        self.server.keys.append(self.headers["Authorization"] or self.headers["x-api-key"])
        self.server.jobs[job := f"job_{len(self.server.jobs)}"] = items
        send(200, {"id": self.server.named or job, "status": "validating", "processing_status": "in_progress"})(self)

    def do_GET(self) -> None:  # noqa: N802
        job = re.search(r"job_\d+", self.path)[0]  # type: ignore[index]
        self.server.looks += 1
        if job not in self.server.jobs:
            return send(404, {"error": {"message": "no such batch"}})(self)
        if self.path.endswith(("/content", "/results")):
            lines = self.server.given([self.line(*item) for item in self.server.jobs[job].items()])
            return send(200, "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines).encode())(self)
        if self.server.looks <= self.server.needed:
            return send(200, {"id": job, "status": "in_progress", "request_counts": {"completed": 2, "x": "y"}})(self)
        claude = "messages" in self.path
        end = {"processing_status": "ended"} if claude else {"status": "completed", "output_file_id": f"out-{job}"}
        return send(200, {"id": job, **end, **self.server.state})(self)

    def line(self, name: str, body: Line) -> Line:
        said = text_of(body["messages"][-1]["content"])
        if "messages" in self.path:
            content = [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": said}]
            message = {"type": "message", "role": "assistant", "content": content, "stop_reason": "end_turn", "usage": COUNTS}
            return {"custom_id": name, "result": {"type": "succeeded", "message": message}}
        choice = {"message": {"role": "assistant", "content": said}, "finish_reason": "stop"}
        reply = {"model": "tiny", "choices": [choice], "usage": COUNTS}
        return {"id": "r", "custom_id": name, "response": {"status_code": 200, "body": reply}, "error": None}


def text_of(question: str) -> str:
    return f"It is {len(question)}."


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    with serving(answer(text_of, COUNTS)) as script:
        made: Any = script
        made.RequestHandlerClass, made.jobs, made.named, made.looks, made.needed, made.state = Batches, {}, "", 0, 1, {}
        made.given = lambda lines: lines
        ask_of(script, monkeypatch)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-0123456789abcdef")
        yield made


def made(form: str, server: Script, **changes: Any) -> Any:
    kind = OpenAiBatches if form == "openai" else AnthropicBatches
    return kind(**{"model": "tiny", "base_url": server.url, "poll": 0.01, "retries": 0, "price": PRICE, **changes})


def asking(*texts: str) -> list[Request]:
    return [Request(Query(text, text), (), (Message("user", text),)) for text in texts]


def distorted(lines: list[Any]) -> list[Any]:
    """Backwards, doubled, of an unknown id, not readable; the second failed, the third expired, the last is missing."""
    second, third = ({"custom_id": line["custom_id"]} for line in lines[1:3])
    second |= {
        "response": {"status_code": 400, "body": {"error": {"message": "no"}}},
        "result": {"type": "errored", "error": {}},
    }
    third |= {"response": None, "error": {"code": "batch_expired"}, "result": {"type": "expired"}}
    junk = ["", "{", "[]", "x" * 2**21, {"custom_id": ["a"]}, {**lines[0], "custom_id": "unknown"}]
    return [*junk, third, second, *reversed(lines[3:-1]), lines[0], {**lines[0], "response": {}, "result": {}}, lines[0]]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("given", [lambda lines: lines[::-1], distorted])
def test_replies_of_a_batch_are_those_of_single_requests(
    form: str, given: Callable[[Any], Any], server: Any, tmp_path: Path
) -> None:
    requests = asking(*(f"{'why ' * number}?\u2028" for number in range(8)), "?\u2028")
    server.given = given
    generator, ledger = made(form, server), Ledger(store := Store(str(tmp_path / "a")), Terms())
    replies = StoredGenerator(generator, store, "", ledger).at_once(requests)
    (items,) = server.jobs.values()
    left = 0 if given is not distorted else 3
    assert (len(items), len(server.asked)) == (7, 1 + left)
    assert ledger.spent().cost == pytest.approx(0.1 * (1 + left + (7 - left) / 2))
    assert len(set(server.keys)) == 1
    single = StoredGenerator(made(form, server), Store(str(tmp_path / "b")), "").generate(requests)
    assert replies == [replace(reply, cost=ours.cost) for ours, reply in zip(replies, single, strict=True)]
    asked = len(server.asked)
    assert StoredGenerator(made(form, server), store, "").generate(requests) == replies
    assert StoredGenerator(made(form, server), Store(str(tmp_path / "b")), "").at_once(requests) == single
    assert (len(server.asked), len(server.jobs), store.keys("jobs")) == (asked, 1, [])


@pytest.mark.parametrize("form", FORMS)
def test_a_budget_cuts_batches_and_a_forgotten_or_failed_one_is_replaced(form: str, server: Any, tmp_path: Path) -> None:
    requests, store = asking(*map(str, range(10))), Store(str(tmp_path))
    terms = Terms(usd=0.1 + 3.5 * made(form, server).expected(requests[0])[1] / 2)
    with pytest.raises(BudgetError):
        StoredGenerator(made(form, server), store, "", Ledger(store, terms)).at_once(requests)
    assert [len(items) for items in server.jobs.values()] == [3, 2]
    asked = len(server.asked)
    server.named = "job_77"  # of which the server knows nothing
    StoredGenerator(made(form, server, temperature=0.5), store, "").at_once(requests)
    assert len(server.asked) == asked + 10
    server.named = "../files"
    with pytest.raises(ServiceError, match="sent the ids"):
        StoredGenerator(made(form, server, model="other"), store, "").at_once(requests)
    for wrong in (0, 3601, float("nan")):
        with pytest.raises(ConfigError, match=r"runtime\.poll"):
            made(form, server, poll=wrong)


@pytest.mark.parametrize(("form", "ending"), [(FORMS[0], signal.SIGKILL), (FORMS[1], signal.SIGINT)])
def test_a_sweep_that_ends_early_goes_on_with_its_batch(
    form: str, ending: signal.Signals, server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fixed = f", generator.base_url='{server.url}', generator.model=tiny, generator.runtime.poll=0.05"
    study = write_study(tmp_path, "  prompt: prompt=plain,bare", fixed, f"{form}_batch")
    command = [sys.executable, "-m", "rag", "sweep", str(study), "--no-track"]
    server.needed = 10**6
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    while server.looks < 2:
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    process.send_signal(ending)
    out, err = process.communicate()
    assert process.returncode == (130 if ending == signal.SIGINT else -ending)
    assert re.search(r"Batch job_0 of 5 requests runs at http.*the same command goes on", err), (out, err)
    server.needed = 0
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert [len(items) for items in server.jobs.values()] == [QUESTIONS - 1] * 2  # one of each prompt
    assert len(server.asked) == 2


def test_a_plan_has_the_share_of_the_price(server: Any, tmp_path: Path) -> None:
    price = ', "generator.runtime.price={prompt: 1, completion: 1, batch: 0.25}"'
    costs = []
    for generator in ("openai", "openai_batch"):
        study = write_study(tmp_path, fixed=price, generator=generator)
        costs.append(planned(study, Store(str(tmp_path / "store"))).estimate.spending.likely.cost)
    assert costs[0] == pytest.approx(4 * costs[1])
