"""The golden questions of a bundle, asked of a server that has it."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from rag.bundle import proof
from rag.bundle.differences import Mismatch, Replay
from rag.bundle.opened import Bundle
from rag.bundle.proof import Case, cases_of
from rag.citations import without_markers
from rag.errors import ServiceError
from rag.records import Message, Turn

TIMEOUT = 60.0
"""Seconds that a server has for one answer."""
PATIENCE = 5
"""Times that one question is asked again where a server says that it was asked too often."""


def replayed_url(bundle: Bundle, url: str, key: str | None = None, model: str | None = None) -> Replay:
    """Ask a server the golden questions of its bundle.

    That is through /search and, where the answer repeats itself, /ask, or /v1/chat/completions where a conversation stands
    before the question. What would ask a model, or cannot be sent, is left out. ServiceError where the server cannot be asked.
    """
    import httpx

    if urlsplit(url).scheme not in ("http", "https"):
        raise ServiceError(url, "is no address of a server", "for example --url http://127.0.0.1:8000")
    found = Replay()
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    with httpx.Client(base_url=url.rstrip("/"), headers=headers, timeout=TIMEOUT) as client:
        for case in cases_of(bundle):
            if (why := _unsent(case)) is not None:
                found.leave_out(why)
            elif not _over_http(case, Asked(client, bundle.digest, model), found):
                break
    return found


def _unsent(case: Case) -> str | None:
    """Why a question is not asked over HTTP; None if it is."""
    if case.sought or case.recalled:
        return "a model says what is searched for or remembered"
    if not case.query.history:
        return None
    if case.answer is None:
        return "a conversation stands before the question, and a model would answer it"
    # A server takes the markers out of what an assistant said: they number passages that are gone.
    plain = all(turn.text == without_markers(turn.text).strip() for turn in case.query.history)
    return None if plain else "the conversation before the question cannot be sent as it was"


@dataclass(frozen=True)
class Asked:
    """A server that is asked for one bundle."""

    client: Any
    digest: str
    model: str | None

    def post(self, path: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """What it answers; ServiceError for anything but that."""
        return _posted(self.client, path, body)

    def search(self, case: Case) -> Mapping[str, Any]:
        """The passages of a question."""
        return self.post("/search", {"question": case.query.text, "model": self.model})

    def answer(self, case: Case) -> Mapping[str, Any]:
        """The answer to a question."""
        return self.post("/ask", {"question": case.query.text, "model": self.model, "show": ["prompt"]})

    def complete(self, case: Case) -> Mapping[str, Any]:
        """The answer to a question behind a conversation, its prompt left out."""
        said = [{"role": turn.role, "content": turn.text} for turn in (*case.query.history, Turn("user", case.query.text))]
        told = self.post("/v1/chat/completions", {"model": self.model or "default", "messages": said})
        return {**told["assay"], "answer": told["choices"][0]["message"]["content"]}


def _over_http(case: Case, asked: Asked, found: Replay) -> bool:
    """Compare one question; whether it is worth going on: not with another bundle, nor with a server of another kind."""
    try:
        told = asked.complete(case) if case.query.history else asked.search(case)
        if told.get("bundle") != asked.digest:
            found.mismatches.append(Mismatch(case.query.query_id, "bundle", asked.digest, told.get("bundle")))
            return False
        if not case.query.history:
            found.hold(case, "passages", case.retrieved, tuple(passage["chunk"] for passage in told["passages"]))
            if case.answer is None:
                return True
            told = asked.answer(case)
            messages = [Message(message["role"], message["content"]) for message in told.get("prompt") or ()]
            found.hold(case, "prompt", case.prompt, proof.told(messages))
        found.hold(case, "contexts", case.contexts, tuple(context["chunk"] for context in told["contexts"]))
        found.hold(case, "answer", case.answer, told["answer"])
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        raise ServiceError(
            str(asked.client.base_url), f"answers otherwise than promised: {error!r}", "is it rag serve?"
        ) from error
    return True


def _posted(client: Any, path: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
    import httpx

    where = f"{client.base_url}{path.lstrip('/')}"
    try:
        response = client.post(path, json=body)
        for _ in range(PATIENCE):
            if response.status_code != 429:
                break
            time.sleep(_seconds(response.headers.get("Retry-After")))
            response = client.post(path, json=body)
        content = response.json() if response.content else {}
    except httpx.HTTPError as error:
        raise ServiceError(where, f"cannot be reached ({error})", "start it: rag serve BUNDLE, or check the address") from error
    except ValueError as error:
        raise ServiceError(where, f"answers with status {response.status_code}, and no JSON", "check the address") from error
    if response.status_code != 200:
        said = content.get("detail") or content.get("title") or "" if isinstance(content, dict) else ""
        remedy = "name the variable that holds a key: --key-env NAME" if response.status_code == 401 else "look at its log"
        raise ServiceError(where, f"answers with status {response.status_code}: {said}".rstrip(": "), remedy)
    return dict(content)


def _seconds(after: str | None) -> float:
    """How long a server wants to be left alone, at most a minute."""
    return min(float(after), 60.0) if after and after.isdecimal() else 1.0
