"""What a chat completions server sent: a reply, or an error and what it means to the person who configured it."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from openai import APIStatusError
    from openai.types.chat import ChatCompletionChunk

REMEDY = "set generator.base_url (or OPENAI_BASE_URL) to the address that answers itself, if you trust it"
LATER = "try again later"

REMEDIES: Mapping[int, str] = dict.fromkeys((301, 302, 303, 307, 308), REMEDY) | {
    400: "mend the field that it names; null leaves generator.temperature, .seed or .max_tokens out",
    401: "put a valid key into the environment variable that generator.api_key_env names",
    403: "use a key that may use this model",
    404: "check generator.model (or OPENAI_MODEL), and that generator.base_url ends like /v1",
    422: "mend the field that it names; null leaves generator.temperature, .seed or .max_tokens out",
    429: "wait, check the quota, or lower generator.runtime.concurrency",
}
"""What would do, by HTTP status; LATER about every other, 5xx above all."""

SMALLER = "lower k or context_tokens, choose smaller chunks, or a model with a larger window"
OTHER_WORDS = "ask it in other words, or another model"

TOO_LONG = re.compile(
    r"exceed_context|context_length|context (length|size|window)|too many tokens|(prompt|input|request) is too l(ong|arge)",
    re.IGNORECASE,
)
FILTERED = re.compile(r"content_filter|content_policy|content management policy|safety system", re.IGNORECASE)


def for_good(status: int, body: Any, message: str) -> str:
    """What would do about a refusal that concerns one request alone and stays; empty for every other error.

    OpenAI, llama.cpp and vLLM word it differently, and llama.cpp may answer 500 where others answer 400.
    """
    parts = body if isinstance(body, Mapping) else {}
    said = " ".join(str(part) for part in (parts.get("code"), parts.get("type"), parts.get("message"), message) if part)
    if status == 413 or (status in (400, 422, 500) and TOO_LONG.search(said)):
        return SMALLER
    return OTHER_WORDS if status in (400, 403, 422) and FILTERED.search(said) else ""


def one_line(said: str) -> str:
    """What a server said, on one line, without what would move the cursor of a terminal or turn its text around."""
    return " ".join("".join(character if character.isprintable() else " " for character in said).split())


def nothing_said(finish: str) -> tuple[str, str]:
    """What an empty reply means, and what would do, by the reason that the server gave for its end."""
    if finish == "length":
        return "spent all of its tokens and wrote no answer", "raise generator.max_tokens"
    if finish == "content_filter":
        return "filtered its answer out", OTHER_WORDS
    return "gave an empty answer", OTHER_WORDS


def explained(error: Exception, timeout: float) -> tuple[str, str, bool]:
    """What a failed call means, what would do, and whether it concerns one request alone and stays."""
    import httpx2
    import openai

    if isinstance(error, openai.APIStatusError):
        alone = for_good(error.status_code, error.body, str(error.message))
        return answered(error), alone or REMEDIES.get(error.status_code, LATER), bool(alone)
    if isinstance(error, (openai.APITimeoutError, httpx2.TimeoutException)):
        return f"no answer within {timeout:g} s", "raise generator.runtime.timeout or check the server", False
    if isinstance(error, openai.APIConnectionError):
        what = f"cannot be reached: {error.__cause__ or error}"
        return what, "check generator.base_url (or OPENAI_BASE_URL), and that the server runs", False
    if isinstance(error, openai.APIError):  # An event of a stream that says what went wrong.
        alone = for_good(400, error.body, str(error.message))
        return f"broke its reply off: {error.message}", alone or LATER, bool(alone)
    if isinstance(error, httpx2.HTTPError):
        return f"broke its reply off: {error}", LATER, False
    if isinstance(error, openai.OpenAIError):
        return str(error), "limit generator.max_tokens, and check the server", False
    return f"sent a reply that cannot be read: {error}", "check that this is a chat completions server", False


def answered(error: "APIStatusError") -> str:
    """What the server said, where it sends to, and how long it asks to wait."""
    said = error.body.get("message") if isinstance(error.body, Mapping) else None
    told = f"answered {error.status_code}: {said or error.message}"
    if 300 <= error.status_code < 400:
        return f"{told}; it sends on to {error.response.headers.get('Location', 'nowhere')}, where nothing of yours goes"
    wait = error.response.headers.get("Retry-After")
    return f"{told} (Retry-After: {wait[:40]})" if wait else told


def completion(body: Any) -> tuple[str, str, int | None, int | None]:
    """Text, reason of its end, and token counts of a chat completion; a count that is missing or no number is None."""
    try:
        choice = body["choices"][0]
        text = _text(choice["message"].get("content"))
        usage = body.get("usage") or {}
        counts = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
        return text, str(choice.get("finish_reason") or ""), *counts
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise ValueError(f"no chat completion in {str(body)[:200]!r}") from error


@dataclass
class SoFar:
    """What a stream has said: its text, the reason of its end once it is there, and counts of tokens where they came.

    `begun` tells whether it was a stream of chunks at all.
    """

    text: str = ""
    finish: str = ""
    begun: bool = False
    counts: tuple[int | None, int | None] = (None, None)

    def pieces(self, chunk: "ChatCompletionChunk") -> Iterator[str]:
        """The text in a chunk, after which all that it says is known."""
        self.begun = True
        if chunk.usage:
            self.counts = _count(chunk.usage.prompt_tokens), _count(chunk.usage.completion_tokens)
        for choice in chunk.choices or ():
            self.finish = str(choice.finish_reason or self.finish)
            piece = _text(choice.delta and choice.delta.content)
            self.text += piece
            yield piece


def _text(said: Any) -> str:
    """What was said, half of a surrogate pair as a question mark; TypeError for NaN or a list of parts."""
    if said is not None and not isinstance(said, str):
        raise TypeError(f"{str(said)[:80]!r} is no text")
    return (said or "").encode("utf-8", "replace").decode()


def _count(value: Any) -> int | None:
    known = isinstance(value, (int, float)) and 0 <= value < 2**53  # a float of more digits is not exact
    return int(value) if known else None
