"""A bundle as a `ResponsesAgent` of MLflow: it speaks the Responses API of OpenAI, and answers as the bundle does."""

from collections.abc import Generator, Iterator, Mapping, Sequence
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any, Literal
from urllib.parse import quote
from uuid import uuid4

from mlflow.pyfunc.model import PythonModelContext, ResponsesAgent
from mlflow.types.responses import ResponsesAgentRequest, ResponsesAgentResponse, ResponsesAgentStreamEvent

from rag.bundle.open_bundle import Bundle
from rag.core.errors import UserError
from rag.core.records import Answer, Query, Reply, Turn
from rag.core.text.citations import Citation, citations, without_markers
from rag.execution.sweep.open_config import required_question
from rag.pipeline.passage_fates import traced_answer
from rag.pipeline.pipeline import Trace
from rag.tracking.registry.load_bundle import opened, refused

ROLES: Mapping[str, Literal["user", "assistant"]] = {"user": "user", "assistant": "assistant"}
"""Who speaks in a conversation that a pipeline reads: what a model is told beside it stands in its own prompt."""


class BundleAgent(ResponsesAgent):
    """Answers the last message of `input`, the messages before it are the conversation.

    Messages of the roles `system` and `developer` are left out: the prompt was measured as it is sealed. The text cites
    sources as annotations of the kind `url_citation`; `custom_outputs` is what `rag ask --json` prints, and the bundle's hash.
    With `custom_inputs: {"answer": false}` passages are found and no model is asked for an answer.
    """

    bundle: Bundle

    def load_context(self, context: PythonModelContext) -> None:
        """Open the bundle beside the model."""
        self.bundle = opened(context.artifacts, context.model_config)
        # Whether models and indexes may be asked by several threads at once is nothing that they promise.
        self._alone = Lock()
        documents = self.bundle.pipeline.corpus.documents
        self._titles = {each.doc_id: str(each.metadata["title"]) for each in documents if each.metadata.get("title")}

    def predict(self, request: ResponsesAgentRequest) -> ResponsesAgentResponse:  # type: ignore[override]
        """Answer the last message."""
        with refused():
            query = asked_in(request.input)
            trace = self._found(query)
            return self._response(trace, self._answer(query, trace, request.custom_inputs or {}))

    def predict_stream(self, request: ResponsesAgentRequest) -> Generator[ResponsesAgentStreamEvent, None, None]:  # type: ignore[override]
        """Answer the last message in pieces; whoever listens no more stops the model that speaks."""
        with refused():
            query, item = asked_in(request.input), _new("msg")
            trace = self._found(query)
            for piece in (hearing := _Hearing(self.bundle, query, trace)):
                yield ResponsesAgentStreamEvent.model_validate(self.create_text_delta(piece, item))
            done = {"item": self._item(hearing.answer, item), "custom_outputs": self._outputs(trace, hearing.answer)}
            yield ResponsesAgentStreamEvent.model_validate({"type": "response.output_item.done", **done})

    def _answer(self, query: Query, trace: Trace, told_to: Mapping[str, Any]) -> Answer:
        pipeline = self.bundle.pipeline
        if told_to.get("answer", True):
            return pipeline.answer_from(query, trace)
        return Answer(query, pipeline.contexts(trace), Reply(""), sought=trace.sought)

    def _found(self, query: Query) -> Trace:
        with self._alone:
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
        told_of = {"id": _new("resp"), "model": self.bundle.name, "status": "completed", "usage": usage}
        said = {"output": [self._item(answer, _new("msg"))], "custom_outputs": self._outputs(trace, answer)}
        return ResponsesAgentResponse.model_validate(told_of | said)

    def _item(self, answer: Answer, item: str) -> dict[str, Any]:
        cited = [self._annotation(one) for one in citations(answer.reply.text, answer.contexts)]
        return self.create_text_output_item(answer.reply.text, item, cited)

    def _annotation(self, cited: Citation) -> dict[str, Any]:
        """A citation in OpenAI's form: the marker's place in the answer, and an address as the server of bundles has it."""
        span = cited.span
        address = f"/documents/{quote(span.doc_id)}#{span.start}-{span.end}"
        place = {"start_index": cited.start, "end_index": cited.end}
        return {"type": "url_citation", **place, "url": address, "title": self._titles.get(span.doc_id, span.doc_id)}

    def _outputs(self, trace: Trace, answer: Answer) -> dict[str, Any]:
        return {"bundle": self.bundle.digest, **traced_answer(self.bundle.pipeline, trace, answer)}


class _Hearing:
    """The pieces of an answer, as they come; `answer` is the whole of it, when there are no more."""

    answer: Answer

    def __init__(self, bundle: Bundle, query: Query, trace: Trace) -> None:
        self._said: SimpleQueue[str | Answer | BaseException] = SimpleQueue()
        self._gone = False
        self._asked = bundle, query, trace

    def __iter__(self) -> Iterator[str]:
        Thread(target=self._speak, daemon=True).start()
        try:
            while not isinstance(said := self._said.get(), Answer):
                if isinstance(said, BaseException):
                    raise said
                if said:
                    yield said
            self.answer = said
        finally:
            self._gone = True

    def _speak(self) -> None:
        bundle, query, trace = self._asked
        try:
            self._said.put(bundle.pipeline.answer_from(query, trace, self._hear))
        except BaseException as error:
            # Whoever listens gets it: a thread has nobody to raise it to. Kept for nobody, it would keep the model talking.
            if not self._gone:
                self._said.put(error)

    def _hear(self, piece: str) -> None:
        if self._gone:
            raise ConnectionAbortedError("nobody listens any more")
        self._said.put(piece)


def asked_in(messages: Sequence[Any]) -> Query:
    """The question that a conversation ends with; UserError where it ends otherwise.

    Answers before it lose their markers, as in every conversation: they number passages that are gone.
    """
    said = [(ROLES[message.role], _text(message.content)) for message in messages if _speaker(message) in ROLES]
    if not said or said[-1][0] != "user":
        raise UserError("input", "does not end with a message of a user", '[{"role": "user", "content": "…"}]')
    question = said.pop()[1]
    turns = (Turn(role, text if role == "user" else without_markers(text)) for role, text in said)
    return Query(required_question(question).query_id, question, tuple(turn for turn in turns if turn.text.strip()))


def _speaker(message: Any) -> str:
    return str(getattr(message, "role", ""))


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = (part if isinstance(part, dict) else part.model_dump() for part in content)
    return "".join(str(part.get("text", "")) for part in parts)


def _new(kind: str) -> str:
    return f"{kind}_{uuid4().hex[:24]}"
