"""Answers of a Claude model through Anthropic's Messages API.

https://platform.claude.com/docs/en/api/messages and, for streams, /docs/en/build-with-claude/streaming. Anthropic calls its
interface in OpenAI's form a means to test models, not one for production; that one ignores JSON schemas, too.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import dropwhile
from typing import Any, ClassVar

from rag.components.generators.model_server import ModelServer
from rag.components.generators.prices import LONGEST_REPLY
from rag.components.generators.received import Counts, Received, count_of
from rag.core.models.server_keys import key_for
from rag.core.types import Request

VERSION = "2023-06-01"
PROMPT = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
"""Counts that are the tokens of a prompt together."""


@dataclass(frozen=True)
class AnthropicGenerator(ModelServer):
    """Claude's answers, as `ModelServer` describes. Models after Claude 4.6 refuse a temperature: it is left out for them.

    System messages become the field `system`. A conversation begins with a message of the user, so earlier ones of the
    assistant are left out, and so are messages without text. The API has no seed; `seed` must be None. A refused answer has a
    `failure` and no text. It has no schema for any JSON object: `reply_schema={}` sends none. Tokens in a prompt cache, which
    `extra` can switch on, are counted and priced as ordinary ones.
    """

    path: ClassVar[str] = "/messages"
    own_fields: ClassVar[frozenset[str]] = ModelServer.own_fields | {"system", "max_tokens"}

    base_url: str = "https://api.anthropic.com/v1"
    api_key_env: str | None = "ANTHROPIC_API_KEY"
    seed: None = None

    def _body(self, request: Request) -> dict[str, Any]:
        system = "\n\n".join(message.content for message in request.messages if message.role == "system")
        said = [message for message in request.messages if message.role != "system" and message.content.strip()]
        turns = dropwhile(lambda message: message.role != "user", said)
        schema = {"format": {"type": "json_schema", "schema": dict(self.reply_schema)}} if self.reply_schema else None
        settings = {"system": system or None, "temperature": self.temperature, "output_config": schema}
        return {
            "model": self.model,
            "messages": [{"role": message.role, "content": message.content} for message in turns],
            "max_tokens": self.max_tokens or LONGEST_REPLY,
            **{name: value for name, value in settings.items() if value is not None},
            **self.extra,
        }

    def _take(self, part: Any, received: Received, streamed: bool) -> Iterator[str]:
        if not streamed or part["type"] == "message_start":
            message = part["message"] if streamed else part
            received.model, received.counts = str(message.get("model") or ""), _counts(message["usage"])
            yield from map(received.part, message["content"])
            received.ends(message["stop_reason"])
        elif part["type"] == "content_block_delta":
            yield received.part({**part["delta"], "type": part["delta"]["type"].removesuffix("_delta")})
        elif part["type"] == "message_delta":
            received.ends(part["delta"].get("stop_reason"))
            received.counts = received.counts[0], count_of(part["usage"].get("output_tokens"))

    def _headers(self) -> dict[str, Any]:
        """The key is in a header of its own; the headers for OpenAI are left out."""
        from openai import Omit

        left_out = dict.fromkeys(("Authorization", "OpenAI-Organization", "OpenAI-Project"), Omit())
        return {**left_out, "x-api-key": key_for(self.url, self.api_key_env), "anthropic-version": VERSION}


def _counts(usage: Mapping[str, Any]) -> Counts:
    known = [count for name in PROMPT if (count := count_of(usage.get(name))) is not None]
    return sum(known) if known else None, count_of(usage.get("output_tokens"))
