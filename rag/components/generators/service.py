"""Errors of model servers, with their remedies."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rag.components.generators.received import OTHER_WORDS
from rag.core.models.server_keys import QUOTA

if TYPE_CHECKING:
    from openai import APIStatusError

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

SMALLER = "lower k or context_tokens, choose smaller chunks, or a model with a larger window"
PAY = "add credit to the account, wait for its next period, or choose another provider"

TOO_LONG = re.compile(
    r"exceed_?.?context|context.?(length|size|window)|too many (input )?tokens|(prompt|input|request) is too l(ong|arge)"
    r"|maximum model length|token count.{0,20} exceeds the maximum|max_new_tokens. must be",
    re.IGNORECASE,
)
FILTERED = re.compile(r"content_filter|content_policy|content management policy|safety system", re.IGNORECASE)
UNKNOWN = re.compile(r"(?i)unsupported|n[o']t support|deprecated|unrecogni[sz]ed|unknown|not permitted|only the default")
"""What a server says of a field that it refuses with any value."""
OPTIONAL: Mapping[str, str] = {
    **dict.fromkeys(("temperature", "seed", "stream_options"), ""),
    **{"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"},
}
"""Fields that a server may refuse → the field in place of each, empty for none."""


def permanent_refusal(status: int, body: Any, message: str) -> str:
    """The remedy for a permanent refusal of one request; empty for every other error.

    OpenAI, llama.cpp and vLLM use different words, and llama.cpp may answer 500 where others answer 400.
    """
    parts = parts_of(body)
    words = " ".join(str(part) for part in (parts.get("code"), parts.get("type"), parts.get("message"), message) if part)
    if status == 413 or (status in (400, 422, 500) and TOO_LONG.search(words)):
        return SMALLER
    return OTHER_WORDS if status in (400, 403, 422) and FILTERED.search(words) else ""


def parts_of(body: Any) -> Mapping[str, Any]:
    """The parts of an error's body; Gemini sends a list of one."""
    body = body[0].get("error") if isinstance(body, list) and body and isinstance(body[0], Mapping) else body
    return body if isinstance(body, Mapping) else {}


def refused_field(error: Exception, body: Mapping[str, Any]) -> str:
    """The field of a request that its server refuses with any value, and that is one of OPTIONAL; empty for other errors."""
    import openai

    if not isinstance(error, openai.APIStatusError) or error.status_code not in (400, 422) or not UNKNOWN.search(error.message):
        return ""
    named = str(parts_of(error.body).get("param") or error.message)
    found = [name for name in OPTIONAL if name in body and re.search(rf"\b{name}\b", named)]
    return found[0] if len(found) == 1 else ""


def explain(error: Exception, timeout: float) -> tuple[str, str, bool]:
    """What a failed call means, its remedy, and whether it is a permanent refusal of one request."""
    import httpx2
    import openai

    if isinstance(error, openai.APIStatusError):
        alone = permanent_refusal(error.status_code, error.body, str(error.message))
        remedy = PAY if QUOTA.search(str(error.body)) else REMEDIES.get(error.status_code, LATER)
        return _status(error), alone or remedy, bool(alone)
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
    message = parts_of(error.body).get("message")
    answer = f"answered {error.status_code}: {message or error.message}"
    if 300 <= error.status_code < 400:
        return f"{answer}; it redirects to {error.response.headers.get('Location', 'nowhere')}, which is not followed"
    wait = error.response.headers.get("Retry-After")
    return f"{answer} (Retry-After: {wait[:40]})" if wait else answer
