"""Answers of a real model: whole, in pieces, refused, replayed."""

from pathlib import Path

import pytest

from rag.components.generators.openai import OpenAiGenerator
from rag.core.errors import RefusalError, ServiceError
from rag.core.types import Chunk, Message, Query, Request, Span
from rag.execution.store.cached_replies import StoredGenerator
from rag.execution.store.store import Store

pytestmark = pytest.mark.llm

SOURCE = "The ferry to Holm leaves at seven. A ticket costs nine crowns."


def request(question: str, source: str = SOURCE) -> Request:
    said = (
        Message("system", "Answer in one short sentence from the numbered source. Cite it as [1]."),
        Message("user", f"[1] {source}\n\nQuestion: {question}"),
    )
    return Request(Query("q", question), (Chunk(Span("ferry", 0, len(source)), source),), said)


def test_an_answer_comes_from_the_source_and_counts(model: OpenAiGenerator) -> None:
    (reply,) = model.generate([request("When does the ferry leave?")])
    assert "seven" in reply.text.lower() or "7" in reply.text
    assert not reply.failure
    assert reply.prompt_tokens > 20
    assert 0 < reply.completion_tokens <= 24


def test_a_model_on_this_machine_costs_nothing(model: OpenAiGenerator) -> None:
    assert model.expected(request("Who?"))[1] == 0.0


def test_a_stream_comes_in_pieces_and_is_the_answer(model: OpenAiGenerator) -> None:
    pieces = list(model.stream(request("What does a ticket cost?")))
    assert len(pieces) > 1
    assert "nine" in "".join(pieces).lower() or "9" in "".join(pieces)


def test_contexts_beyond_the_window_are_refused_for_good(model: OpenAiGenerator) -> None:
    (reply,) = model.generate([request("When?", "The ferry leaves at seven, or it does not. " * 20_000)])
    assert reply.text == ""
    error = RefusalError.of(reply.failure)
    assert model.url in error.where
    assert "context_tokens" in error.remedy


def test_nobody_answers_at_another_port(model: OpenAiGenerator) -> None:
    unreachable = OpenAiGenerator("local", "http://127.0.0.1:9/v1", retries=0)
    with pytest.raises(ServiceError, match="cannot be reached"):
        unreachable.generate([request("When?")])


def test_a_reply_is_stored_and_replayed_to_the_letter(model: OpenAiGenerator, tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    first = StoredGenerator(model, store, "").generate([request("When does the ferry leave?")])
    unreachable = OpenAiGenerator(model.model, model.base_url, max_tokens=24, timeout=0.001, retries=0)
    assert StoredGenerator(unreachable, store, "").generate([request("When does the ferry leave?")]) == first
