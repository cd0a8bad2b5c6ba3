"""Replies of chat completions servers: their text and token counts, or an error with its remedy."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rag.core.models.pinned import readable

if TYPE_CHECKING:
    from openai import APIStatusError
    from openai.types.chat import ChatCompletionChunk

REDIRECTED = "set generator.base_url (or OPENAI_BASE_URL) to the final address, if it is to be trusted"
FIELD = "fix the field that the server names; null leaves generator.temperature, .seed or .max_tokens out"
LATER = "try again later"

REMEDIES: Mapping[int, str] = dict.fromkeys((301, 302, 303, 307, 308), REDIRECTED) | {
    400: FIELD,
    401: "put a valid key into the environment variable that generator.api_key_env names",
    403: "use a key that may use this model",
    404: "check generator.model (or its variable, such as OPENAI_MODEL), and that generator.base_url ends like /v1",
    422: FIELD,
    429: "wait, check the quota, or lower generator.runtime.concurrency",
}
"""HTTP status → remedy; LATER for all others, such as 5xx."""

Counts = tuple[int | None, int | None]
"""Tokens of prompt and completion; None for a count that is missing or not a number."""
Completion = tuple[str, str, Counts]
"""Text, finish reason in OpenAI's words, and token counts of a reply."""

SMALLER = "lower k or context_tokens, choose smaller chunks, or a model with a larger window"
OTHER_WORDS = "ask it in other words, or another model"

TOO_LONG = re.compile(
    r"exceed_context|context_length|context (length|size|window)|too many tokens|(prompt|input|request) is too l(ong|arge)",
    re.IGNORECASE,
)
FILTERED = re.compile(r"content_filter|content_policy|content management policy|safety system", re.IGNORECASE)


def permanent_refusal(status: int, body: Any, message: str) -> str:
    """The remedy for a permanent refusal of one request; empty for every other error.

    OpenAI, llama.cpp and vLLM use different words, and llama.cpp may answer 500 where others answer 400.
    """
    parts = body if isinstance(body, Mapping) else {}
    words = " ".join(str(part) for part in (parts.get("code"), parts.get("type"), parts.get("message"), message) if part)
    if status == 413 or (status in (400, 422, 500) and TOO_LONG.search(words)):
        return SMALLER
    return OTHER_WORDS if status in (400, 403, 422) and FILTERED.search(words) else ""


def one_line(text: str) -> str:
    """A text on one line, without control characters that move a cursor or reverse the direction of writing."""
    return " ".join("".join(character if character.isprintable() else " " for character in text).split())


def empty_reply(finish: str) -> tuple[str, str]:
    """What an empty reply means and its remedy, by the finish reason of the server."""
    if finish == "length":
        return "spent all of its tokens and wrote no answer", "raise generator.max_tokens"
    if finish == "content_filter":
        return "filtered its answer out", OTHER_WORDS
    return "gave an empty answer", OTHER_WORDS


def explain(error: Exception, timeout: float) -> tuple[str, str, bool]:
    """What a failed call means, its remedy, and whether it is a permanent refusal of one request."""
    import httpx2
    import openai

    if isinstance(error, openai.APIStatusError):
        alone = permanent_refusal(error.status_code, error.body, str(error.message))
        return _status(error), alone or REMEDIES.get(error.status_code, LATER), bool(alone)
    if isinstance(error, (openai.APITimeoutError, httpx2.TimeoutException)):
        return f"no answer within {timeout:g} s", "raise generator.runtime.timeout or check the server", False
    if isinstance(error, openai.APIConnectionError):
        what = f"cannot be reached: {error.__cause__ or error}"
        return what, "check generator.base_url (or OPENAI_BASE_URL), and that the server runs", False
    if isinstance(error, openai.APIError):  # an error event in a stream
        alone = permanent_refusal(400, error.body, str(error.message))
        return f"broke its reply off: {error.message}", alone or LATER, bool(alone)
    if isinstance(error, httpx2.HTTPError):
        return f"broke its reply off: {error}", LATER, False
    if isinstance(error, openai.OpenAIError):
        return str(error), "limit generator.max_tokens, and check the server", False
    return f"sent a reply that cannot be read: {error}", "check that this is a chat completions server", False


def _status(error: "APIStatusError") -> str:
    """Status and message of an error, the target of a redirect, and the wait that the server asks for."""
    message = error.body.get("message") if isinstance(error.body, Mapping) else None
    answer = f"answered {error.status_code}: {message or error.message}"
    if 300 <= error.status_code < 400:
        return f"{answer}; it redirects to {error.response.headers.get('Location', 'nowhere')}, which is not followed"
    wait = error.response.headers.get("Retry-After")
    return f"{answer} (Retry-After: {wait[:40]})" if wait else answer


def completion(body: Any) -> Completion:
    """Text, finish reason and token counts of a chat completion; ValueError for anything else."""
    try:
        choice = body["choices"][0]
        text = text_of(choice["message"].get("content"))
        usage = body.get("usage") or {}
        counts = count_of(usage.get("prompt_tokens")), count_of(usage.get("completion_tokens"))
        return text, str(choice.get("finish_reason") or ""), counts
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise ValueError(f"no chat completion in {str(body)[:200]!r}") from error


@dataclass
class StreamState:
    """The text of a stream so far, its finish reason and token counts once they arrive.

    `begun` is True after the first chunk.
    """

    text: str = ""
    finish: str = ""
    begun: bool = False
    counts: Counts = (None, None)

    def pieces(self, chunk: "ChatCompletionChunk") -> Iterator[str]:
        """Yield the text of a chunk and update the state."""
        self.begun = True
        if chunk.usage:
            self.counts = count_of(chunk.usage.prompt_tokens), count_of(chunk.usage.completion_tokens)
        for choice in chunk.choices or ():
            self.finish = str(choice.finish_reason or self.finish)
            piece = text_of(choice.delta and choice.delta.content)
            self.text += piece
            yield piece


def text_of(content: Any) -> str:
    """The content as text, half of a surrogate pair as a question mark; TypeError for NaN or a list of parts."""
    if content is not None and not isinstance(content, str):
        raise TypeError(f"{str(content)[:80]!r} is not a text")
    return readable(content or "")


def count_of(value: Any) -> int | None:
    """A count of tokens; None for a value that is none."""
    known = isinstance(value, (int, float)) and 0 <= value < 2**53  # a float of more digits is not exact
    return int(value) if known else None
