"""Answers of a Claude model through Anthropic's Messages API.

https://platform.claude.com/docs/en/api/messages and, for streams, /docs/en/build-with-claude/streaming. Anthropic calls its
interface in OpenAI's form a means to test models, not one for production; that one ignores JSON schemas, too.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import dropwhile
from typing import Any, ClassVar

from rag.components.generators.model_server import LONGEST_REPLY, ModelServer
from rag.components.generators.service import Completion, Counts, StreamState, count_of, text_of
from rag.core.types import Request

VERSION = "2023-06-01"
FINISH: Mapping[str, str] = {"refusal": "content_filter", "max_tokens": "length", "model_context_window_exceeded": "length"}
"""Stop reasons of Anthropic → finish reasons of OpenAI; others are the same for us."""
PROMPT = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
"""Counts that are the tokens of a prompt together."""


@dataclass(frozen=True)
class AnthropicGenerator(ModelServer):
    """Claude's answers, as `ModelServer` describes. Models after Claude 4.6 refuse a temperature: set it to None for them.

    System messages become the field `system`. A conversation begins with a message of the user, so earlier ones of the
    assistant are left out, and so are messages without text. The API has no seed; `seed` must be None. A refused answer has a
    `failure` and no text. It has no schema for any JSON object: `reply_schema={}` sends none. Tokens in a prompt cache, which
    `extra` can switch on, are counted and priced as ordinary ones.
    """

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

    def _completion(self, body: Mapping[str, Any]) -> Completion:
        import httpx2

        message = self._post(body, cast_to=httpx2.Response).json()
        try:
            finish = str(message["stop_reason"])
            text = "".join(text_of(block["text"]) for block in message["content"] if block["type"] == "text")
            return "" if finish == "refusal" else text, FINISH.get(finish, finish), _counts(message["usage"])
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"no message in {str(message)[:200]!r}") from error

    def _pieces(self, body: Mapping[str, Any], so_far: StreamState) -> Iterator[str]:
        from openai import Stream

        with self._post({**body, "stream": True}, cast_to=object, stream=True, stream_cls=Stream[object]) as events:
            for event in events:
                so_far.begun = True
                yield _read(event, so_far)

    def _post(self, body: Mapping[str, Any], **more: Any) -> Any:
        """The reply to a request. The key is in a header of its own; the headers for OpenAI are left out."""
        from openai import Omit

        left_out = dict.fromkeys(("Authorization", "OpenAI-Organization", "OpenAI-Project"), Omit())
        headers = {**left_out, "x-api-key": self._key, "anthropic-version": VERSION}
        post: Callable[..., Any] = self._client.post
        return post("/messages", body=body, options={"headers": headers}, **more)


def _counts(usage: Mapping[str, Any]) -> Counts:
    known = [count for name in PROMPT if (count := count_of(usage.get(name))) is not None]
    return sum(known) if known else None, count_of(usage.get("output_tokens"))


def _read(event: Any, so_far: StreamState) -> str:
    """The text of an event of a stream; the state is updated."""
    piece = ""
    if event["type"] == "message_start":
        so_far.counts = _counts(event["message"]["usage"])
    elif event["type"] == "content_block_delta" and event["delta"]["type"] == "text_delta":
        piece = text_of(event["delta"]["text"])
    elif event["type"] == "message_delta":
        finish = str(event["delta"].get("stop_reason") or "")
        so_far.finish = FINISH.get(finish, finish)
        so_far.counts = so_far.counts[0], count_of(event["usage"].get("output_tokens"))
        if finish == "refusal":
            so_far.text = ""
    so_far.text += piece
    return piece
