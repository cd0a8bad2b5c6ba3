"""Answers of a chat model with OpenAI's HTTP interface: OpenAI itself, vLLM, llama.cpp, Ollama, a gateway."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from rag.components.generators.model_server import ModelServer
from rag.components.generators.service import Completion, StreamState, completion
from rag.core.models.server_keys import OFFICIAL
from rag.core.types import Request

if TYPE_CHECKING:
    from openai import Stream
    from openai.types.chat import ChatCompletionChunk


@dataclass(frozen=True)
class OpenAiGenerator(ModelServer):
    """Chat completions, as `ModelServer` describes; `base_url` None is OpenAI's own server.

    A server without `response_format` refuses a `reply_schema`.
    """

    @property
    def url(self) -> str:
        """The base address of `/chat/completions`."""
        return self.base_url or OFFICIAL

    def _opened(self, body: Mapping[str, Any]) -> "Stream[ChatCompletionChunk]":
        """A stream that ends with token counts, or without them if the server does not support that."""
        import openai

        create: Callable[..., Stream[ChatCompletionChunk]] = self._client.chat.completions.create
        try:
            return create(stream=True, stream_options={"include_usage": True}, **body)
        except openai.APIStatusError as error:
            if error.status_code not in (400, 422) or "stream_options" not in f"{error.body} {error.message}":
                raise
            return create(stream=True, **body)

    def _pieces(self, body: Mapping[str, Any], so_far: StreamState) -> Iterator[str]:
        with self._opened(body) as chunks:
            for chunk in chunks:
                yield from so_far.pieces(chunk)

    def _completion(self, body: Mapping[str, Any]) -> Completion:
        create = self._client.chat.completions.with_raw_response.create
        return completion(create(**body).http_response.json())

    def _body(self, request: Request) -> dict[str, Any]:
        # OpenAI's newer models refuse `max_tokens`; many other servers support nothing else.
        limit = "max_completion_tokens" if (urlsplit(self.url).hostname or "").endswith("openai.com") else "max_tokens"
        # A second sample with the same seed would be the same reply.
        seed = None if self.seed is None else self.seed + request.sample
        settings = {"temperature": self.temperature, limit: self.max_tokens, "seed": seed, "response_format": self._format}
        return {
            "model": self.model,
            "messages": [{"role": message.role, "content": message.content} for message in request.messages],
            "extra_body": {name: value for name, value in settings.items() if value is not None} | dict(self.extra),
        }

    @property
    def _format(self) -> Mapping[str, Any] | None:
        if not self.reply_schema:
            return None if self.reply_schema is None else {"type": "json_object"}
        return {"type": "json_schema", "json_schema": {"name": "reply", "schema": dict(self.reply_schema), "strict": True}}
