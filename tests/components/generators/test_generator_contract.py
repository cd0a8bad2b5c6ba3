"""Laws that every choice in conf/generator keeps; a choice that asks a server asks one that plays along."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf
from support.scripted_server import answer, serving

from rag.config.build import Components
from rag.core.records import Chunk, Message, Query, Request, Span
from rag.core.roles import Generator, fingerprint

CHOICES = sorted((Path(__file__).parents[3] / "conf" / "generator").glob("*.yaml"))
TEXTS = ("Leave is 26 days. Sick pay is full.", "Otters swim in the river.", "The gauge at weir 7 is broken.")


@pytest.fixture(scope="module")
def parrot() -> Iterator[str]:
    """Answers every chat with the first 20 characters of its last message and a citation of source 1."""
    with serving(answer(lambda question: question[:20] + " [1] [99]", {})) as server:
        yield server.url


@pytest.fixture(params=CHOICES, ids=lambda path: path.stem)
def generator(request: pytest.FixtureRequest, parrot: str, monkeypatch: pytest.MonkeyPatch) -> Generator:
    for key in ("OPENAI_API_KEY", "GROQ_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.setenv(key, "none")
    node: Any = OmegaConf.to_container(OmegaConf.load(request.param), resolve=True)
    built: Generator = Components().role("generator", here(node, parrot))
    return built


def here(node: Any, url: str) -> Any:
    """A config whose servers are all at `url`."""
    if not isinstance(node, dict):
        return node
    return {name: url if name == "base_url" else here(value, url) for name, value in node.items()}


def request_for(question: str, count: int = 3) -> Request:
    chunks = tuple(Chunk(Span(f"d{number}", 0, len(text)), text) for number, text in enumerate(TEXTS[:count]))
    return Request(Query(question, question), chunks, (Message("system", "Answer."), Message("user", question)))


REQUESTS = [request_for("How many days is leave?"), request_for("Which gauge is broken?"), request_for("Is pay full?", 0)]


def test_one_reply_per_request_in_order(generator: Generator) -> None:
    together = generator.generate(REQUESTS)
    alone = [generator.generate([request])[0] for request in REQUESTS]
    assert [(reply.text, reply.citations) for reply in together] == [(reply.text, reply.citations) for reply in alone]
    assert [reply.text for reply in generator.generate(REQUESTS[::-1])] == [reply.text for reply in together][::-1]


def test_no_requests_no_replies(generator: Generator) -> None:
    assert generator.generate([]) == []


def test_citations_are_numbers_of_contexts_that_the_text_cites(generator: Generator) -> None:
    for request, reply in zip(REQUESTS, generator.generate(REQUESTS), strict=True):
        assert all(1 <= number <= len(request.contexts) and f"[{number}]" in reply.text for number in reply.citations)
        assert len(set(reply.citations)) == len(reply.citations)


def test_the_pieces_of_a_stream_are_the_reply(generator: Generator) -> None:
    for request, reply in zip(REQUESTS, generator.generate(REQUESTS), strict=True):
        assert "".join(generator.stream(request)) == reply.text


def test_counts_are_counts(generator: Generator) -> None:
    for reply in generator.generate(REQUESTS):
        assert min(reply.prompt_tokens, reply.completion_tokens) >= 0
        assert not reply.cost < 0


def test_fingerprints_need_no_server(generator: Generator) -> None:
    assert fingerprint(generator) == fingerprint(generator)


def test_none_alone_changes_nothing() -> None:
    marked = [path.stem for path in CHOICES if getattr(_class_of(path), "changes_nothing", False)]
    assert marked == ["none"]


def _class_of(path: Path) -> type:
    return Components().resolve(OmegaConf.load(path)["_target_"], path.stem)
