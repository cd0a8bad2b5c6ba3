"""What a model is given, as it is shown, stored and served: budget, pinned documents, turns, what was left out."""

from typing import Any

import pytest
from support.command_line import Verb

from rag.core.errors import UserError
from rag.core.text.tokens import count
from rag.core.types import Message
from rag.pipeline.prompt.edited_prompt import checked, edited

pytestmark = pytest.mark.usefixtures("here", "golden")

SEARCH = "chunker=sentence chunker.sentences=1 chunker.step=1 index=[bm25s] fusion=single"
GIVEN = ["dataset=native", "dataset.path=../golden", "embedder=hashing", *SEARCH.split(), "latency=0"]
FERRY = "When does the ferry to Holm leave?"


def shown(rag: Verb, *overrides: str, question: str = FERRY) -> Any:
    output = rag("prompt", "show", question, *GIVEN, "loader.path=../golden/documents", *overrides, "--json")
    assert output.code == 0, output.err
    return output.json


def test_the_exact_messages_of_a_question(rag: Verb) -> None:
    result = shown(rag, "k=1", "prompt.instruction='Go.'", "prompt.role=''", "prompt.closing='Question: {question}'")
    assert result["messages"] == [
        {"role": "system", "content": "Go.", "tokens": 2},
        {
            "role": "user",
            "content": f"Sources:\n\n[1] Ferry\nThe ferry to Holm leaves at seven.\n\nQuestion: {FERRY}",
            "tokens": result["messages"][1]["tokens"],
        },
    ]
    assert result["tokens"] == 2 + count(result["messages"][1]["content"])
    assert result["searched"] == [FERRY]
    (context,) = result["contexts"]
    assert (context["number"], context["rank"], context["chunk"]) == (1, 1, "ferry.md:9-43")
    assert context["tokens"] == context["of"] == 8
    assert result["left_out"] == result["findings"] == []


def test_what_has_no_room_is_left_out_and_reported(rag: Verb) -> None:
    result = shown(rag, "k=3", "context_tokens=8")
    assert [context["number"] for context in result["contexts"]] == [1]
    assert [(row["rank"], row["why"]) for row in result["left_out"]] == [(2, "no room"), (3, "no room")]
    output = rag("prompt", "show", FERRY, *GIVEN, "loader.path=../golden/documents", "k=3", "context_tokens=4")
    assert "4 of 8 tokens" in output.out
    assert "no room" in output.out
    assert "[1] Ferry\nThe ferry to Holm\n" in output.out
    assert "at most 4" in output.out


def test_pinned_documents_go_in_whole(rag: Verb) -> None:
    result = shown(rag, "pinned=[rules.txt]", "context_tokens=1")
    assert "Pinned document rules.txt:\nChildren under six" in result["messages"][-1]["content"]
    assert "thirty days at the harbour." in result["messages"][-1]["content"]


def test_an_edited_prompt_keeps_its_messages_and_loses_control_characters() -> None:
    sent = Message("system", "=== user 0 ===\nGo."), Message("user", "When?\n")
    assert edited(sent, lambda text: text.replace("Go", "\x1b\x00Go\ud800")) == sent
    for wrong in ("", "x", "=== user 0 ===\nGo."):
        with pytest.raises(UserError, match="has lost a line"):
            edited(sent, lambda _, wrong=wrong: wrong)  # type: ignore[misc]
    for content in (" \n", "x" * 1_000_001):
        with pytest.raises(UserError, match="at most 1,000,000"):
            checked([Message("user", content)])
