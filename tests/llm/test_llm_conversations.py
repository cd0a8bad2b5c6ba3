"""Rewriting, summing up and the rule of conflicts with the model behind OPENAI_BASE_URL."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from bench.measuring import DATA

from rag.config.build import Components
from rag.config.compose import compose, composing, resolve
from rag.core.types import Document, Material, Query, Request, Turn
from rag.documents.anchors.quote_anchors import WORD

pytestmark = pytest.mark.llm


@pytest.fixture
def config(base_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A function that composes and builds a choice: `config("queries", "queries=rewrite")`."""
    monkeypatch.chdir(tmp_path)

    def built(role: str, *overrides: str) -> Any:
        with composing():
            return Components().role(role, resolve(compose(list(overrides)))[role])

    return built


def overlap(text: str, reference: str) -> float:
    """F1 of the different words."""
    one, other = (set(WORD.findall(part.lower())) for part in (text, reference))
    return 2 * len(one & other) / (len(one) + len(other))


@pytest.mark.skipif(not DATA.is_dir(), reason="needs the public sets of RAG_DATA")
def test_rewrites_come_closer_to_those_of_a_person(config: Any) -> None:
    rows = [json.loads(line) for line in (DATA / "cast2019" / "conversations.jsonl").read_text("utf-8").splitlines()]
    rows = [row for row in rows if row["history"] and row["rewrite"] != row["text"]][::23]
    queries = [Query(row["_id"], row["text"], tuple(Turn("user", t["text"]) for t in row["history"])) for row in rows]
    found = config("queries", "queries=rewrite").rewrite(queries)
    pairs = []
    for row, sought in zip(rows, found, strict=True):
        pairs.append((overlap(row["text"], row["rewrite"]), overlap(sought.question, row["rewrite"])))
        sys.stdout.write(f"words shared with the rewrite of a person, F1: {pairs[-1]} {sought.question}\n")
    assert sum(after for _, after in pairs) > sum(before for before, _ in pairs)
    assert all(sought.tokens for sought in found)


TALK = tuple(
    Turn(*turn)
    for turn in (
        ("user", "My name is Ada Quill, and my badge number is 4417."),
        ("assistant", "Noted, Ada."),
        ("user", "The gate at Holm opens at seven."),
        ("assistant", "Good to know."),
        ("user", "I like the rain."),
        ("assistant", "So do I."),
    )
)


def test_a_summary_keeps_names_and_numbers(config: Any) -> None:
    (recalled,) = config("memory", "memory=summary_model", "memory.turns=2").recall([Query("q", "What is my badge?", TALK)])
    assert not recalled.note
    assert "4417" in recalled.summary
    assert "Quill" in recalled.summary


FILLER = (Turn("user", "Thanks."), Turn("assistant", "You are welcome."), Turn("user", "Fine."), Turn("assistant", "Good."))
OLD = (Turn("user", "The code of the gate at Holm is 4417."), Turn("assistant", "Noted."))
NEW = (Turn("user", "They gave the gate at Holm another code yesterday, 9021 it is."), Turn("assistant", "Noted."))
INSTRUCTION = "Answer the question from the pinned documents and from what was said before. Reply with the answer alone."
CONTEXT = "Pinned documents:\n{pinned}\n\nWhat was said before:\n{summary}\n\nSources:\n{contexts}"
PINNED = Document("gates.md", "The code of the gate at Holm is 7358.")


@pytest.mark.parametrize(
    ("history", "pinned", "holds"),
    [((*OLD, *FILLER), (), "4417"), ((*OLD, *NEW, *FILLER), (), "9021"), ((*OLD, *NEW, *FILLER), (PINNED,), "7358")],
    ids=["older", "newer over older", "pinned over newer"],
)
def test_pinned_files_hold_over_newer_over_older(
    config: Any, history: tuple[Turn, ...], pinned: tuple[Document, ...], holds: str
) -> None:
    query = Query("q", "What is the code of the gate at Holm?", history)
    (recalled,) = config("memory", "memory=two_layer").recall([query])
    assert recalled.turns == FILLER
    prompt = replace(config("prompt", "prompt=plain"), role="", instruction=INSTRUCTION, context=CONTEXT)
    messages = prompt.render(Material(query, (), recalled, pinned))
    (reply,) = config("generator", "generator=openai", "generator.max_tokens=48").generate([Request(query, (), messages)])
    assert holds in reply.text, reply.text
