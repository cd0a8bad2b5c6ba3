"""Answers of a chat model with OpenAI's HTTP interface: OpenAI itself, vLLM, llama.cpp, Ollama, a gateway."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar
from urllib.parse import urlsplit

from rag.components.generators.model_server import ModelServer
from rag.components.generators.received import Received, count_of
from rag.core.models.server_keys import OFFICIAL
from rag.core.types import Request

NEWER = (".openai.com", ".openai.azure.com", ".cognitiveservices.azure.com", ".services.ai.azure.com")
"""Hosts of OpenAI and Azure."""


@dataclass(frozen=True)
class OpenAiGenerator(ModelServer):
    """Chat completions, as `ModelServer` describes; `base_url` None is OpenAI's own server.

    A server without `response_format` refuses a `reply_schema`.
    """

    path: ClassVar[str] = "/chat/completions"
    streaming: ClassVar[Mapping[str, Any]] = {"stream": True, "stream_options": {"include_usage": True}}

    @property
    def url(self) -> str:
        """The base address of `/chat/completions`."""
        return self.base_url or OFFICIAL

    def _take(self, part: Any, received: Received, streamed: bool) -> Iterator[str]:
        received.model = str(part.get("model") or received.model)
        if isinstance(usage := part.get("usage"), Mapping):
            received.counts = count_of(usage.get("prompt_tokens")), count_of(usage.get("completion_tokens"))
        for choice in (part.get("choices") or ()) if streamed else [part["choices"][0]]:
            said = (choice.get("delta") or {}) if streamed else choice["message"]
            yield from received.message(said, choice.get("finish_reason") or part.get("done_reason"))

    def _body(self, request: Request) -> dict[str, Any]:
        # Newer models of OpenAI and Azure refuse `max_tokens`; many other servers support nothing else.
        limit = "max_completion_tokens" if f".{urlsplit(self.url).hostname}".endswith(NEWER) else "max_tokens"
        # A second sample with the same seed would be the same reply.
        seed = None if self.seed is None else self.seed + request.sample
        settings = {"temperature": self.temperature, limit: self.max_tokens, "seed": seed, "response_format": self._format}
        return {
            "model": self.model,
            "messages": [{"role": message.role, "content": message.content} for message in request.messages],
            **{name: value for name, value in settings.items() if value is not None},
            **self.extra,
        }

    @property
    def _format(self) -> Mapping[str, Any] | None:
        if not self.reply_schema:
            return None if self.reply_schema is None else {"type": "json_object"}
        return {"type": "json_schema", "json_schema": {"name": "reply", "schema": dict(self.reply_schema), "strict": True}}
