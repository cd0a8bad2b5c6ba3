"""A bundle as a `ResponsesAgent` of MLflow: it has OpenAI's Responses API, and answers as the bundle does."""

from collections.abc import Generator, Iterator, Mapping, Sequence
from queue import SimpleQueue
from threading import Event, Lock, Thread
from typing import Any, Literal
from urllib.parse import quote
from uuid import uuid4

from mlflow.pyfunc.model import PythonModelContext, ResponsesAgent
from mlflow.types.responses import ResponsesAgentRequest, ResponsesAgentResponse, ResponsesAgentStreamEvent

from rag.bundle.open_bundle import Bundle
from rag.core.errors import UserError
from rag.core.text.citations import Citation, citations, without_markers
from rag.core.types import Answer, Query, Reply, Turn
from rag.execution.sweep.open_config import required_question
from rag.pipeline.pipeline import Pipeline, Trace
from rag.pipeline.shapes.passage_fates import traced_answer
from rag.plugins.mlflow_registry.load_bundle import client_errors, opened

ROLES: Mapping[str, Literal["user", "assistant"]] = {"user": "user", "assistant": "assistant"}
"""Roles of messages that a pipeline reads; instructions to the model are in its own prompt."""


class BundleAgent(ResponsesAgent):
    """Answers the last message of `input`; the messages before it are the conversation.

    Messages of the roles `system` and `developer` are left out: the prompt was measured as it is sealed. The text cites
    sources as annotations of type `url_citation`; `custom_outputs` is what `rag ask --json` prints, and the bundle's hash.
    With `custom_inputs: {"answer": false}`, and in a bundle without a generator, passages are retrieved for an empty
    answer.
    """

    bundle: Bundle

    def load_context(self, context: PythonModelContext) -> None:
        """Open the bundle of the model."""
        self.bundle = opened(context.artifacts, context.model_config)
        self._lock = Lock()  # models and indexes need not be thread-safe
        documents = self.bundle.pipeline.corpus.documents
        self._titles = {each.doc_id: str(each.metadata["title"]) for each in documents if each.metadata.get("title")}

    def predict(self, request: ResponsesAgentRequest) -> ResponsesAgentResponse:  # type: ignore[override]
        """Answer the last message."""
        with client_errors():
            query = query_of(request.input)
            trace = self._trace(query)
            return self._response(trace, self._answer(query, trace, request.custom_inputs or {}))

    def predict_stream(self, request: ResponsesAgentRequest) -> Generator[ResponsesAgentStreamEvent, None, None]:  # type: ignore[override]
        """Answer the last message in pieces; closing the stream stops the model."""
        with client_errors():
            query, item = query_of(request.input), _new_id("msg")
            trace = self._trace(query)
            for part in _parts(self.bundle.pipeline, query, trace):
                if isinstance(part, str):
                    yield ResponsesAgentStreamEvent.model_validate(self.create_text_delta(part, item))
                    continue
                done = {"item": self._item(part, item), "custom_outputs": self._outputs(trace, part)}
                yield ResponsesAgentStreamEvent.model_validate({"type": "response.output_item.done", **done})

    def _answer(self, query: Query, trace: Trace, custom_inputs: Mapping[str, Any]) -> Answer:
        pipeline = self.bundle.pipeline
        if custom_inputs.get("answer", True):
            return pipeline.answer_from(query, trace)
        return Answer(query, pipeline.contexts(trace), Reply(""), sought=trace.sought, look=trace.look)

    def _trace(self, query: Query) -> Trace:
        with self._lock:
            return self.bundle.pipeline.trace(query)

    def _response(self, trace: Trace, answer: Answer) -> ResponsesAgentResponse:
        reply = answer.reply
        usage = {
            "input_tokens": reply.prompt_tokens,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": reply.completion_tokens,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": reply.prompt_tokens + reply.completion_tokens,
        }
        head = {"id": _new_id("resp"), "model": self.bundle.name, "status": "completed", "usage": usage}
        body = {"output": [self._item(answer, _new_id("msg"))], "custom_outputs": self._outputs(trace, answer)}
        return ResponsesAgentResponse.model_validate(head | body)

    def _item(self, answer: Answer, item: str) -> dict[str, Any]:
        cited = [self._annotation(citation) for citation in citations(answer.reply.text, answer.contexts)]
        return self.create_text_output_item(answer.reply.text, item, cited)

    def _annotation(self, cited: Citation) -> dict[str, Any]:
        """A citation in OpenAI's form: the marker's place in the answer, and the address of the passage on `rag serve`."""
        span = cited.span
        address = f"/documents/{quote(span.doc_id)}#{span.start}-{span.end}"
        place = {"start_index": cited.start, "end_index": cited.end}
        return {"type": "url_citation", **place, "url": address, "title": self._titles.get(span.doc_id, span.doc_id)}

    def _outputs(self, trace: Trace, answer: Answer) -> dict[str, Any]:
        return {"bundle": self.bundle.digest, **traced_answer(self.bundle.pipeline, trace, answer)}


def _parts(pipeline: Pipeline, query: Query, trace: Trace) -> Iterator[str | Answer]:
    """The pieces of an answer as they come, and then the answer; the model stops when the iterator is closed."""
    parts: SimpleQueue[str | Answer | BaseException] = SimpleQueue()
    closed = Event()

    def hear(piece: str) -> None:
        if closed.is_set():
            raise ConnectionAbortedError("the client has closed the stream")
        parts.put(piece)

    def speak() -> None:
        try:
            parts.put(pipeline.answer_from(query, trace, hear))
        except BaseException as error:
            if not closed.is_set():  # an error that is kept holds the model's stream open
                parts.put(error)

    Thread(target=speak, daemon=True).start()
    try:
        while True:
            part = parts.get()
            if isinstance(part, BaseException):
                raise part
            if part:
                yield part
            if isinstance(part, Answer):
                return
    finally:
        closed.set()


def query_of(messages: Sequence[Any]) -> Query:
    """The question at the end of a conversation; UserError for a conversation with another end.

    Answers before it lose their citation markers, because the passages that they number are gone.
    """
    turns = [(ROLES[message.role], _text(message.content)) for message in messages if getattr(message, "role", "") in ROLES]
    if not turns or turns[-1][0] != "user":
        raise UserError("input", "does not end with a message of a user", '[{"role": "user", "content": "…"}]')
    question = turns.pop()[1]
    history = (Turn(role, text if role == "user" else without_markers(text)) for role, text in turns)
    return Query(required_question(question).query_id, question, tuple(turn for turn in history if turn.text.strip()))


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = (part if isinstance(part, dict) else part.model_dump() for part in content)
    return "".join(str(part.get("text", "")) for part in parts)


def _new_id(kind: str) -> str:
    return f"{kind}_{uuid4().hex[:24]}"
