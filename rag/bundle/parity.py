"""Proof that a bundle answers as it was measured: its golden questions, asked again, here and over HTTP."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlsplit

from rag.bundle import proof
from rag.bundle.layout import GOLDEN
from rag.bundle.opened import Bundle
from rag.bundle.proof import Case
from rag.bundle.refusal import refused
from rag.errors import RefusalError, ServiceError
from rag.identity import digest
from rag.pipeline import Pipeline, Trace
from rag.records import Query, Recalled, Sought

TIMEOUT = 60.0
"""Seconds that a server has for one answer."""


@dataclass(frozen=True)
class Mismatch:
    """Something that is not as it was measured: the `passages`, the `prompt` or the `answer` of a question, or the `bundle`.

    `expected` and `found` are chunk_ids, a digest of messages, a text, or the hash of a bundle.
    """

    query_id: str
    what: str
    expected: Any
    found: Any

    def __str__(self) -> str:
        """What differs, in a sentence."""
        if self.what == "bundle":
            return f"the server has another bundle: {self.found or 'it names none'}, not {self.expected}"
        if self.what == "passages":
            rank = _first_difference(self.expected, self.found)
            there = [ids[rank] if rank < len(ids) else "nothing" for ids in (self.expected, self.found)]
            return f"{self.query_id}: passage {rank + 1} was {there[0]} when it was measured, and is {there[1]}"
        if self.what == "prompt":
            return f"{self.query_id}: the messages to the model are others than when it was measured"
        return f"{self.query_id}: the answer was {self.expected!r} when it was measured, and is {self.found!r}"

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {"query_id": self.query_id, "what": self.what, "expected": self.expected, "found": self.found, "said": str(self)}


def _first_difference(one: Sequence[str], other: Sequence[str]) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((rank for rank, (left, right) in pairs if left != right), min(len(one), len(other)))


@dataclass
class Replay:
    """What was compared, by `passages`, `prompt` and `answer`, what differs, and why questions could not be asked."""

    compared: dict[str, int] = field(default_factory=lambda: dict.fromkeys(("passages", "prompt", "answer"), 0))
    mismatches: list[Mismatch] = field(default_factory=list)
    left_out: dict[str, int] = field(default_factory=dict)

    def hold(self, case: Case, what: str, expected: Any, found: Any) -> None:
        """Compare what a bundle must repeat; None is nothing of that."""
        if expected is not None:
            self.compared[what] += 1
            if expected != found:
                self.mismatches.append(Mismatch(case.query.query_id, what, expected, found))

    def leave_out(self, why: str) -> None:
        """Count what was not asked."""
        self.left_out[why] = self.left_out.get(why, 0) + 1

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        told = [mismatch.to_json() for mismatch in self.mismatches]
        return {"compared": dict(self.compared), "mismatches": told, "left_out": dict(self.left_out)}


def cases_of(bundle: Bundle) -> list[Case]:
    """The golden questions of a bundle; BundleError for a file that holds something else."""
    if GOLDEN not in bundle.manifest.files:
        return []
    try:
        return proof.read(bundle.read(GOLDEN))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise refused(f"{bundle.path}: {GOLDEN}", f"holds no golden questions ({error!r})") from error


def replay(bundle: Bundle) -> list[Mismatch]:
    """Ask an opened bundle its golden questions: what differs from what was measured, nothing if it is in order."""
    return replayed(bundle).mismatches


def replayed(bundle: Bundle) -> Replay:
    """As `replay`, with counts. No model behind an endpoint is asked: what one said when it was measured is said again."""
    found, known = Replay(), cases_of(bundle)
    pipeline = _recorded(bundle.pipeline, known)
    traces = pipeline.traces([case.query for case in known]) if known else []
    for case, trace in zip(known, traces, strict=True):
        heads = trace.selected.first(pipeline.k).row(0)
        retrieved = [pipeline.corpus.chunk(position).chunk_id for position, _ in heads]
        found.hold(case, "passages", list(case.retrieved), retrieved)
        if case.prompt is not None:
            found.hold(case, "prompt", case.prompt, proof.prompt_of(pipeline.prepare(case.query, trace)))
        if case.answer is not None:
            found.hold(case, "answer", case.answer, _said(pipeline, case, trace))
    return found


def _said(pipeline: Pipeline, case: Case, trace: Trace) -> str:
    try:
        return pipeline.answer_from(case.query, trace).reply.text
    except RefusalError as error:
        return str(error)


@dataclass(frozen=True)
class _Repeated:
    """A rewriter that says what was said when the trial was measured."""

    sought: Mapping[Query, Sought]

    def rewrite(self, queries: Sequence[Query]) -> list[Sought]:
        return [self.sought[query] for query in queries]


@dataclass(frozen=True)
class _Remembered:
    """A memory that shows what was shown when the trial was measured."""

    recalled: Mapping[Query, Recalled]

    def recall(self, queries: Sequence[Query]) -> list[Recalled]:
        return [self.recalled[query] for query in queries]


def _recorded(pipeline: Pipeline, known: Sequence[Case]) -> Pipeline:
    """The pipeline with what models said on the way put in their place."""
    sought = {case.query: case.sought for case in known if case.sought}
    recalled = {case.query: case.recalled for case in known if case.recalled}
    if sought:
        pipeline = replace(pipeline, queries=_Repeated(sought))
    if recalled:
        pipeline = replace(pipeline, reading=replace(pipeline.reading, memory=_Remembered(recalled)))
    return pipeline


def replay_url(bundle: Bundle, url: str, key: str | None = None, model: str | None = None) -> list[Mismatch]:
    """As `replay`, of a server that has this bundle; errors as in `replayed_url`."""
    return replayed_url(bundle, url, key, model).mismatches


def replayed_url(bundle: Bundle, url: str, key: str | None = None, model: str | None = None) -> Replay:
    """Ask a server the golden questions of its bundle, through /search and, where the answer repeats itself, /ask.

    Left out is what a request cannot carry (a conversation before the question), or what would ask a model. ServiceError
    where the server cannot be asked.
    """
    import httpx

    if urlsplit(url).scheme not in ("http", "https"):
        raise ServiceError(url, "is no address of a server", "for example --url http://127.0.0.1:8080")
    found = Replay()
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    with httpx.Client(base_url=url.rstrip("/"), headers=headers, timeout=TIMEOUT) as client:

        def post(path: str, question: str, **more: Any) -> Mapping[str, Any]:
            return _posted(client, path, {"question": question, "model": model, **more})

        for case in cases_of(bundle):
            if case.query.history:
                found.leave_out("a conversation stands before the question")
            elif case.sought:
                found.leave_out("a model says what is searched for")
            elif not _over_http(bundle, case, post, found):
                break
    return found


def _over_http(bundle: Bundle, case: Case, post: Callable[..., Mapping[str, Any]], found: Replay) -> bool:
    """Compare one question; whether it is worth going on: not with another bundle."""
    searched = post("/search", case.query.text)
    if searched.get("bundle") != bundle.digest:
        found.mismatches.append(Mismatch(case.query.query_id, "bundle", bundle.digest, searched.get("bundle")))
        return False
    found.hold(case, "passages", list(case.retrieved), [passage["chunk"] for passage in searched["passages"]])
    if case.answer is not None:
        answered = post("/ask", case.query.text, show=["prompt"])
        messages = digest([[message["role"], message["content"]] for message in answered.get("prompt") or ()])
        found.hold(case, "prompt", case.prompt, messages)
        found.hold(case, "answer", case.answer, answered["answer"])
    return True


def _posted(client: Any, path: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
    import httpx

    where = f"{client.base_url}{path.lstrip('/')}"
    try:
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
