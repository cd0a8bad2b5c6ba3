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
from support.scripted_server import Exchange, answer, send, serving

from rag.core.errors import BudgetError, ServiceError
from rag.core.types import Message, Query, Request
from rag.execution.store.budget import Ledger, Terms
from rag.execution.store.cached_replies import StoredGenerator
from rag.execution.store.store import Store
from rag.plugins.batches.generators.batches import AnthropicBatches, OpenAiBatches

FORMS = {"openai": OpenAiBatches, "anthropic": AnthropicBatches}
COUNTS = {"prompt_tokens": 90, "completion_tokens": 10, "input_tokens": 90, "output_tokens": 10}
both = pytest.mark.parametrize("form", FORMS)


class Batches(Exchange):
    """Jobs by id in `server.jobs`. They end after `server.needed` looks, with results as `server.given` changes them."""

    server: Any

    def do_POST(self) -> None:  # noqa: N802
        if not self.path.endswith(("/files", "/batches")):
            return super().do_POST()
        sent = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path.endswith("/files"):
            assert b'name="purpose"\r\n\r\nbatch\r\n' in sent
            self.server.file = [json.loads(line) for line in sent.splitlines() if line.startswith(b'{"custom_id"')]
            return send(200, {"id": "file-1"})(self)
        if "messages" in self.path:
            items = {each["custom_id"]: each["params"] for each in json.loads(sent)["requests"]}
        else:
            wanted = {"input_file_id": "file-1", "endpoint": "/v1/chat/completions", "completion_window": "24h"}
            assert json.loads(sent) == wanted
            assert {(each["method"], each["url"]) for each in self.server.file} == {("POST", wanted["endpoint"])}
            items = {each["custom_id"]: each["body"] for each in self.server.file}
        self.server.keys.append(self.headers["Authorization"] or self.headers["x-api-key"])
        self.server.jobs[job := f"job_{len(self.server.jobs)}"] = items
        send(200, {"id": self.server.named or job})(self)

    def do_GET(self) -> None:  # noqa: N802
        job, claude = str(re.findall(r"job_\d+", self.path)[0]), "messages" in self.path
        self.server.looks += 1
        if job not in self.server.jobs:
            return send(404, {"error": {"message": "no such batch"}})(self)
        if self.path.endswith(("/content", "/results")):
            lines = self.server.given([self.line(*item) for item in self.server.jobs[job].items()])
            return send(200, "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines).encode())(self)
        end = {"processing_status": "ended"} if claude else {"status": "completed", "output_file_id": f"out-{job}"}
        waits = {"status": "in_progress", "request_counts": {"completed": 2, "x": "y"}}
        send(200, {"id": job, **(waits if self.server.looks <= self.server.needed else end)})(self)

    def line(self, name: str, body: dict[str, Any]) -> dict[str, Any]:
        said = text_of(body["messages"][-1]["content"])
        choice = {"message": {"role": "assistant", "content": said}, "finish_reason": "stop"}
        parts = [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": said}]
        message = {"content": parts, "stop_reason": "end_turn", "usage": COUNTS}
        reply = {"status_code": 200, "body": {"model": "tiny", "choices": [choice], "usage": COUNTS}}
        return {"custom_id": name, "response": reply, "result": {"type": "succeeded", "message": message}}


def text_of(question: str) -> str:
    return f"It is {len(question)}."


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-0123456789abcdef")
    with serving(answer(text_of, COUNTS)) as script:
        ask_of(script, monkeypatch)
        vars(script).update(RequestHandlerClass=Batches, jobs={}, named="", looks=0, needed=1, given=list)
        yield script


def stored(form: str, server: Any, store: Store, terms: Terms | None = None, **changes: Any) -> StoredGenerator:
    price = {"prompt": 1000.0, "completion": 1000.0, "batch": 0.5}
    settings = {"model": "tiny", "base_url": server.url, "poll": 0.01, "retries": 0, "price": price, **changes}
    return StoredGenerator(FORMS[form](**settings), store, "", Ledger(store, terms or Terms()))


def asking(*texts: str) -> list[Request]:
    return [Request(Query(text, text), (), (Message("user", text),)) for text in texts]


def distorted(lines: list[Any]) -> list[Any]:
    """Backwards, doubled, of an unknown id, not readable; the second failed, the third expired, the last is missing."""
    second, third = ({"custom_id": line["custom_id"]} for line in lines[1:3])
    second |= {"response": {"status_code": 400, "body": {"error": {"message": "no"}}}, "result": {"type": "errored"}}
    third |= {"response": None, "error": {"code": "batch_expired"}, "result": {"type": "expired"}}
    junk = ["", "{", "[]", "x" * 2**21, {"custom_id": ["a"]}, {**lines[0], "custom_id": "unknown"}]
    return [*junk, third, second, *reversed(lines[3:-1]), lines[0], {**lines[0], "response": {}, "result": {}}, lines[0]]


@both
@pytest.mark.parametrize(("given", "left"), [(list, 0), (distorted, 3), (lambda lines: ["x" * (2**26 + 1)], 7)])
def test_replies_of_a_batch_are_those_of_single_requests(
    form: str, given: Callable[[Any], Any], left: int, server: Any, tmp_path: Path
) -> None:
    requests = asking(*(f"{'why ' * number}?\u2028" for number in range(8)), "?\u2028")
    server.given, one, other = given, Store(str(tmp_path / "a")), Store(str(tmp_path / "b"))
    made = stored(form, server, one)
    replies = made.at_once(requests)
    assert ([len(items) for items in server.jobs.values()], len(server.asked), len(set(server.keys))) == ([7], 1 + left, 1)
    assert made.ledger.spent().cost == pytest.approx(0.1 * (1 + left + (7 - left) / 2))
    single = stored(form, server, other).generate(requests)
    assert [replace(reply, cost=0.0) for reply in replies] == [replace(reply, cost=0.0) for reply in single]
    asked = len(server.asked)
    assert (stored(form, server, one).generate(requests), stored(form, server, other).at_once(requests)) == (replies, single)
    assert (len(server.asked), len(server.jobs), one.keys("jobs")) == (asked, 1, [])


@both
def test_a_budget_cuts_batches_and_a_forgotten_one_is_replaced(form: str, server: Any, tmp_path: Path) -> None:
    requests, store = asking(*map(str, range(10))), Store(str(tmp_path))
    with pytest.raises(BudgetError):  # the first takes 0.1, each request of a batch at most 0.256
        stored(form, server, store, Terms(usd=1.0)).at_once(requests)
    assert [len(items) for items in server.jobs.values()] == [3, 2]
    asked, server.named = len(server.asked), "job_77"  # of which the server knows nothing
    stored(form, server, store, temperature=0.5).at_once(requests)
    assert len(server.asked) == asked + 10
    server.named = "../files"
    with pytest.raises(ServiceError, match="sent the ids"):
        stored(form, server, store, model="other").at_once(requests)


@pytest.mark.parametrize(("form", "ending"), [("openai", signal.SIGKILL), ("anthropic", signal.SIGINT)])
def test_a_sweep_that_ends_early_goes_on_with_its_batch(form: str, ending: signal.Signals, server: Any, tmp_path: Path) -> None:
    fixed = f", generator.base_url='{server.url}', generator.model=tiny, generator.runtime.poll=0.05"
    study = write_study(tmp_path, "  prompt: prompt=plain,bare", fixed, f"{form}_batch")
    command = [sys.executable, "-m", "rag", "sweep", str(study), "--no-track"]
    server.needed = 10**6
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    while server.looks < 2:
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    process.send_signal(ending)
    _, said = process.communicate()
    assert process.returncode == (130 if ending == signal.SIGINT else -ending)
    assert re.search(r"Batch job_0 of 5 requests runs at http.*the same command goes on", said)
    server.needed = 0
    assert subprocess.run(command, cwd=tmp_path, capture_output=True).returncode == 0
    assert ([len(items) for items in server.jobs.values()], len(server.asked)) == ([QUESTIONS - 1] * 2, 2)  # of each prompt


def test_a_plan_has_the_share_of_the_price(server: Any, tmp_path: Path) -> None:
    def cost(generator: str) -> float:
        price = ', "generator.runtime.price={prompt: 1, completion: 1, batch: 0.25}"'
        study = write_study(tmp_path, fixed=price, generator=generator)
        return planned(study, Store(str(tmp_path / "store"))).estimate.spending.likely.cost

    assert cost("openai") == pytest.approx(4 * cost("openai_batch"))
