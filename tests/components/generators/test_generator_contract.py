"""The laws of generators, for every choice in conf/generator; choices that need a server have a scripted one."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from support.choices import choices
from support.scripted_server import answer, serving

from rag.config.build import Components
from rag.core.roles import Generator, changes_nothing, fingerprint
from rag.core.types import Chunk, Message, Query, Request, Span
from rag.execution.sweep.open_config import config_of
from rag.testing import check_generator

CHOICES = choices("generator", but=("litellm",))  # tests/plugins/litellm


@pytest.fixture(scope="module")
def generators() -> Iterator[dict[str, Generator]]:
    """All choices; the server answers with the first 20 characters of the last message and a citation of source 1."""
    with pytest.MonkeyPatch.context() as patch, serving(answer(lambda question: question[:20] + " [1] [99]", {})) as server:
        for key in ("OPENAI_API_KEY", "GROQ_API_KEY", "GOOGLE_API_KEY", "GEMINI_API_KEY", "ANTHROPIC_API_KEY"):
            patch.setenv(key, "none")
        patch.setenv("RAG_COMMAND", json.dumps(["printf", "26 [1] [99]"]))

        def redirected(node: Any) -> Any:
            if not isinstance(node, dict):
                return node
            return {name: server.url if name == "base_url" else redirected(value) for name, value in node.items()}

        plain = {name: redirected(config_of([f"generator={name}"])["generator"]) for name in CHOICES}
        yield {name: Components().role("generator", node) for name, node in plain.items()}


@pytest.mark.parametrize("choice", CHOICES)
def test_laws(generators: dict[str, Generator], choice: str) -> None:
    generator = generators[choice]
    check_generator(generator)
    assert fingerprint(generator) == fingerprint(generator)
    chunks = (Chunk(Span("d", 0, 35), "Leave is 26 days. Sick pay is full."),)
    (reply,) = generator.generate([Request(Query("q", "How many days is leave?"), chunks, (Message("user", "Leave?"),))])
    assert all(f"[{number}]" in reply.text for number in reply.citations)


def test_none_alone_changes_nothing(generators: dict[str, Generator]) -> None:
    assert [name for name, generator in generators.items() if changes_nothing(generator)] == ["none"]
