"""Many requests as one batch of a provider, at a lower price.

https://developers.openai.com/api/docs/guides/batch and https://platform.claude.com/docs/en/build-with-claude/batch-processing
"""

import json
import logging
import re
import time
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from rag.components.generators.anthropic import AnthropicGenerator
from rag.components.generators.model_server import MALFORMED, ModelServer
from rag.components.generators.openai import OpenAiGenerator
from rag.components.generators.prices import LONGEST_REPLY
from rag.components.generators.received import Received, count_of
from rag.core.errors import ServiceError
from rag.core.look_checks import one_line
from rag.core.progress import WATCH
from rag.core.types import Reply, Request

LONGEST = 64 * 2**20  # bytes of a batch, and of its results
RESULT, TOKEN = 4096, 16
"""The most bytes of a result that are expected, without its text and for each token of it: so at most 16,384 are in a batch."""
DONE = ("completed", "failed", "succeeded", "errored", "canceled", "expired")  # counts of requests that are over
ENDED = ("completed", "failed", "expired", "cancelled", "ended")
STARTED = "Batch %s of %d requests runs at %s: Ctrl-C leaves it there, and the same command goes on with it."
SINGLE = "Batch %s is over, and %d of %d requests have no reply: they are sent one by one, at the full price. %s"

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class BatchServer(ModelServer):
    """A ModelServer that also takes batches; `poll` is the most seconds between two looks at one.

    A result is read as the reply to a single request, and costs `share` of its price. Results come from the server of the
    config: addresses that it sends are not followed, and ids are checked.
    """

    runtime: ClassVar[tuple[str, ...]] = (*ModelServer.runtime, "poll")
    batches: ClassVar[str]
    poll: float = 60.0

    def _problems(self) -> Iterator[tuple[str, str, str]]:
        yield from super()._problems()
        if not 0 < self.poll <= 3600:
            yield "runtime.poll", f"is {self.poll!r}", "a number of seconds up to 3600"

    @property
    def share(self) -> float:
        """The part of the price that a request of a batch costs: `batch` of conf/prices.yaml, or 1."""
        return self.priced.get("batch", 1.0)

    def start(self, requests: Mapping[str, Request]) -> tuple[str, list[str]]:
        """Send the first requests, as many as fit into one batch; its id, and their names."""
        bodies, room = dict[str, Any](), LONGEST
        for name, request in requests.items():
            body = self._fitting(self._body(request))
            room -= max(len(json.dumps(body)), RESULT + TOKEN * (self.max_tokens or LONGEST_REPLY))
            if bodies and room < 0:
                break
            bodies[name] = body
        job = str(self._created(bodies)["id"])
        log.warning(STARTED, job, len(bodies), self.url)
        return job, list(bodies)

    def replies(self, job: str, requests: Mapping[str, Request]) -> Iterator[tuple[str, Reply]]:
        """Wait for a batch; its replies to these requests by their names. Those without one are left out."""
        waiting, lines, why = dict(requests), "", ""
        try:
            end = self._end(job, len(requests))
            lines, why = self._results(job, end), one_line(str(end.get("errors") or ""), 300)
        except ServiceError as error:
            # A batch that the server forgot, or whose results are endless, would fail again each time.
            if getattr(error.__cause__, "status_code", 0) not in (404, 410) and "and did not end" not in error.what:
                raise
            why = error.what
        for line in lines.split("\n"):  # `splitlines` also cuts at U+2028
            try:
                item = json.loads(line)
                message, request = self._message(item), waiting[item["custom_id"]]
                list(self._take(message, received := Received(last=message), streamed=False))
                received.end()
                reply = self._finished(request, received)
            except MALFORMED:
                continue
            del waiting[item["custom_id"]]
            yield item["custom_id"], replace(reply, cost=reply.cost * self.share)
        if waiting:
            log.warning(SINGLE, job, len(waiting), len(requests), why)

    def _end(self, job: str, count: int) -> Mapping[str, Any]:
        """The state of a batch after its end; a display counts its results until then."""
        wait, shown = min(1.0, self.poll), 0
        with WATCH.get()(count, "replies of a batch") as listen:
            while True:
                state = self._state("get", f"{self.batches}/{job}")
                if (state.get("processing_status") or state.get("status")) in ENDED:
                    return state
                done = min(sum(count_of(state["request_counts"].get(name)) or 0 for name in DONE), count)
                listen(False, done - shown)
                shown = done
                time.sleep(wait)
                wait = min(wait * 1.5, self.poll)

    def _called(self, method: str, path: str, headers: Mapping[str, Any] | None = None, **settings: Any) -> Any:
        """The response of the server. What costs money is not sent again: the first time may have reached it."""
        import httpx2
        import openai

        client = self._client.with_options(max_retries=0) if path == self.batches else self._client
        options = {"headers": {**self._headers(), **(headers or {})}}
        try:
            return getattr(client, method)(path, cast_to=httpx2.Response, options=options, **settings)
        except (openai.OpenAIError, httpx2.HTTPError) as error:
            raise self._explained(error) from error

    def _state(self, method: str, path: str, **settings: Any) -> Mapping[str, Any]:
        """The object that the server answers, with an id that can stand in an address."""
        try:
            state = dict(self._called(method, path, **settings).json())
            ids = (state["id"], state.get("output_file_id") or "none")
            if all(re.fullmatch(r"[\w-]{1,128}", each, re.ASCII) for each in ids):
                return state | {"request_counts": dict(state.get("request_counts") or {})}
            what = f"sent the ids {ids}"
        except MALFORMED as error:
            what = f"sent no batch: {error}"
        raise self._failure(what, "check that this server takes batches")

    @abstractmethod
    def _created(self, bodies: Mapping[str, Any]) -> Mapping[str, Any]:
        """Send a batch; its state."""

    @abstractmethod
    def _results(self, job: str, state: Mapping[str, Any]) -> str:
        """The results of a batch, an object a line."""

    @abstractmethod
    def _message(self, item: Any) -> Any:
        """The reply in a result, as the server sends it to a single request; an error of MALFORMED if there is none."""


@dataclass(frozen=True)
class OpenAiBatches(BatchServer, OpenAiGenerator):
    """Chat completions of OpenAI, and of servers with its `/files` and `/batches`."""

    batches: ClassVar[str] = "/batches"

    def _created(self, bodies: Mapping[str, Any]) -> Mapping[str, Any]:
        endpoint = "/v1/chat/completions"
        lines = ({"custom_id": name, "method": "POST", "url": endpoint, "body": body} for name, body in bodies.items())
        file = ("batch.jsonl", "\n".join(map(json.dumps, lines)).encode(), "application/jsonl")
        form = {"body": {"purpose": "batch"}, "files": {"file": file}, "headers": {"Content-Type": "multipart/form-data"}}
        body = {"input_file_id": self._state("post", "/files", **form)["id"], "endpoint": endpoint, "completion_window": "24h"}
        return self._state("post", self.batches, body=body)

    def _results(self, job: str, state: Mapping[str, Any]) -> str:
        file = state.get("output_file_id")  # null if no request succeeded; `error_file_id` has the others
        return str(self._called("get", f"/files/{file}/content").text) if file else ""

    def _message(self, item: Any) -> Any:
        return item["response"]["body"]


@dataclass(frozen=True)
class AnthropicBatches(BatchServer, AnthropicGenerator):
    """Messages of Claude."""

    batches: ClassVar[str] = "/messages/batches"

    def _created(self, bodies: Mapping[str, Any]) -> Mapping[str, Any]:
        requests = [{"custom_id": name, "params": body} for name, body in bodies.items()]
        return self._state("post", self.batches, body={"requests": requests})

    def _results(self, job: str, state: Mapping[str, Any]) -> str:
        return str(self._called("get", f"{self.batches}/{job}/results").text)

    def _message(self, item: Any) -> Any:
        return item["result"]["message"]
