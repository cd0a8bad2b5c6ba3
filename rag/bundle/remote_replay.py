"""The golden questions of a bundle, asked of a server that has it."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from rag.bundle import golden_cases
from rag.bundle.consistency import is_text
from rag.bundle.differences import Mismatch, Replay
from rag.bundle.golden_cases import Case, cases_of
from rag.bundle.open_bundle import Bundle
from rag.core.errors import ServiceError
from rag.core.records import Message, Turn
from rag.core.text.citations import without_markers

TIMEOUT = 60.0
"""Seconds that a server has for one answer."""
PATIENCE = 5
"""Times that one question is asked again where a server says that it was asked too often."""


def replayed_url(bundle: Bundle, url: str, key: str | None = None) -> Replay:
    """Ask a server the golden questions of its bundle, by whatever name it has it.

    That is through /search and, where the answer repeats itself, /ask, or /v1/chat/completions where a conversation stands
    before the question. What would ask a model, or cannot be sent, is left out. ServiceError where the server cannot be asked.
    """
    import httpx

    if urlsplit(url).scheme not in ("http", "https"):
        raise ServiceError(url, "is no address of a server", "for example --url http://127.0.0.1:8000")
    found = Replay()
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    with httpx.Client(base_url=url.rstrip("/"), headers=headers, timeout=TIMEOUT) as client:
        try:
            if asked := _found(client, bundle.digest, found):
                repeats = not golden_cases.asks([bundle.config[role] for role in golden_cases.ANSWERING])
                before = golden_cases.asks([bundle.config["queries"], bundle.config["memory"]])
                for case in cases_of(bundle):
                    case = case if repeats else replace(case, answer=None)
                    if why := "a model says what is searched for, or remembered" if before else _unsent(case):
                        found.leave_out(why)
                    else:
                        _compare(case, asked, found)
        except (KeyError, TypeError, AttributeError, IndexError) as error:
            what = f"answers otherwise than promised: {error!r}"
            raise ServiceError(str(client.base_url), what, "name the address of rag serve") from error
    return found


def _unsent(case: Case) -> str:
    """Why a question is not asked over HTTP; empty if it is."""
    if not all(map(is_text, (case.query.text, *(turn.text for turn in case.query.history)))):
        return "half a character stands in it, which cannot be sent"
    if not case.query.history:
        return ""
    if case.answer is None:
        return "a conversation stands before the question, and a model would answer it"
    # A server takes the markers out of what an assistant said: they number passages that are gone.
    plain = all(turn.text == without_markers(turn.text).strip() for turn in case.query.history)
    return "" if plain else "the conversation before the question cannot be sent as it was"


@dataclass(frozen=True)
class RemoteBundle:
    """A server that has a bundle, and by which name."""

    client: Any
    model: str

    def search(self, case: Case) -> Mapping[str, Any]:
        """The passages of a question."""
        return _sent(self.client, "/search", {"question": case.query.text, "model": self.model})

    def answer(self, case: Case) -> Mapping[str, Any]:
        """The answer to a question."""
        return _sent(self.client, "/ask", {"question": case.query.text, "model": self.model, "show": ["prompt"]})

    def complete(self, case: Case) -> Mapping[str, Any]:
        """The answer to a question behind a conversation, its prompt left out."""
        said = [{"role": turn.role, "content": turn.text} for turn in (*case.query.history, Turn("user", case.query.text))]
        told = _sent(self.client, "/v1/chat/completions", {"model": self.model, "messages": said})
        return {**told["assay"], "answer": told["choices"][0]["message"]["content"]}


def _found(client: Any, digest: str, found: Replay) -> RemoteBundle | None:
    """The model of a server that is this bundle; a mismatch where it has none."""
    models = _sent(client, "/v1/models")["data"]
    if name := next((str(model["id"]) for model in models if model["bundle"] == digest), None):
        return RemoteBundle(client, name)
    found.mismatches.append(Mismatch("", "bundle", digest, ", ".join(str(model["bundle"]) for model in models)))
    return None


def _compare(case: Case, asked: RemoteBundle, found: Replay) -> None:
    """Compare one question; where no answer is to be repeated, what is found for it."""
    if case.query.history:
        told = asked.complete(case)
    else:
        searched = asked.search(case)
        found.hold(case, "passages", case.retrieved, tuple(passage["chunk"] for passage in searched["passages"]))
        if case.answer is None:
            return
        told = asked.answer(case)
        messages = [Message(message["role"], message["content"]) for message in told.get("prompt") or ()]
        found.hold(case, "prompt", case.prompt, golden_cases.digest_of_messages(messages))
    found.hold(case, "contexts", case.contexts, tuple(context["chunk"] for context in told["contexts"]))
    found.hold(case, "answer", case.answer, told["answer"])


def _sent(client: Any, path: str, body: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
    """What a server answers, in JSON; ServiceError for anything but that."""
    import httpx

    where = f"{client.base_url}{path.lstrip('/')}"
    ask = partial(client.post, path, json=body) if body else partial(client.get, path)
    try:
        response = ask()
        for _ in range(PATIENCE):
            if response.status_code != 429:
                break
            time.sleep(_seconds(response.headers.get("Retry-After")))
            response = ask()
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise ServiceError(where, f"cannot be reached ({error})", "start it: rag serve BUNDLE, or check the address") from error
    try:
        content = response.json() if response.content else {}
    except ValueError as error:
        raise ServiceError(where, f"answers with status {response.status_code}, and no JSON", "check the address") from error
    if response.status_code != 200:
        said = content.get("detail") or content.get("title") or "" if isinstance(content, dict) else ""
        remedy = "name the variable that holds a key: --key-env NAME" if response.status_code == 401 else "look at its log"
        raise ServiceError(where, f"answers with status {response.status_code}: {said}".rstrip(": "), remedy)
    if not isinstance(content, dict):
        raise TypeError(f"{where} gives no object")
    return content


def _seconds(after: str | None) -> float:
    """How long a server wants to be left alone, at most a minute."""
    return min(float(after), 60.0) if after and after.isdecimal() else 1.0
