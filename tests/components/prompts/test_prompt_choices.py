"""Every prompt in conf/prompt, with every strategy of reasoning."""

import os
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import pytest
import yaml

from rag.components.prompts.sections import SectionPrompt
from rag.config.build import Components
from rag.config.compose import choices, compose, composing, resolve, shipped
from rag.core.types import Document, Material, Message, Query, Recalled, Turn

STRATEGIES = list(yaml.safe_load((shipped("conf") / "prompting.yaml").read_text("utf-8"))["strategies"])
REFUSING = ("plain", "cited", "grounded_study", "strict_book", "layered", "section")
"""Prompts with a refusal; `bare` has no defence at all."""
PINNED = (Document("rules.md", "PINNED TEXT"),)
TURNS = (Turn("user", "EARLIER QUESTION"), Turn("assistant", "EARLIER ANSWER"))
FULL = Material(
    Query("q", "THE {question}?"),
    ("FIRST {text}", "SECOND {nothing}"),
    Recalled(TURNS, "THE SUMMARY"),
    PINNED,
    "SAID BEFORE",
    "SAID AFTER",
)


@pytest.fixture(autouse=True, scope="module")
def ready(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """One Hydra for all choices, in a folder without any conf of its own."""
    before = Path.cwd()
    os.chdir(tmp_path_factory.mktemp("prompts"))
    try:
        with composing():
            yield
    finally:
        os.chdir(before)


@lru_cache(maxsize=64)
def built(*overrides: str) -> SectionPrompt:
    prompt: SectionPrompt = Components().role("prompt", resolve(compose(overrides))["prompt"])
    return prompt


def reasoning_by(name: str, reasoning: str) -> SectionPrompt:
    return replace(built(f"prompt={name}"), reasoning=reasoning)


def text(messages: tuple[Message, ...]) -> str:
    return "\n\n".join(message.content for message in messages)


@pytest.mark.parametrize("reasoning", STRATEGIES)
@pytest.mark.parametrize("name", choices("prompt"))
def test_all_material_is_shown_in_its_place(name: str, reasoning: str) -> None:
    messages = reasoning_by(name, reasoning).render(FULL)
    shown = text(messages)
    for part in ("PINNED TEXT", "THE SUMMARY", "SAID BEFORE", "SAID AFTER", "EARLIER QUESTION", "EARLIER ANSWER"):
        assert shown.count(part) == 1, part
    assert "SAID BEFORE\n\n[1] FIRST {text}\n\n[2] SECOND {nothing}\n\nSAID AFTER" in messages[-1].content
    assert "THE {question}?" in messages[-1].content
    assert messages[0].role == "system"
    assert messages[-1].role == "user"


@pytest.mark.parametrize("name", choices("prompt"))
def test_little_material_leaves_no_placeholder_behind(name: str) -> None:
    shown = text(built(f"prompt={name}").render(Material(Query("q", "Why?"), ())))
    assert "{" not in shown
    assert "Why?" in shown
    assert "(none)" in shown
    assert "\n\n\n" not in shown


@pytest.mark.parametrize("name", REFUSING)
def test_the_refusal_is_said_as_it_is_recognised(name: str) -> None:
    prompt = built(f"prompt={name}", "prompt.refusal='No such page.'")
    assert prompt.refusal == "No such page."
    assert "No such page." in text(prompt.render(FULL))
    assert "{refusal}" in (shipped("conf") / "prompt" / f"{name}.yaml").read_text("utf-8")


@pytest.mark.parametrize("reasoning", STRATEGIES)
@pytest.mark.parametrize("name", REFUSING)
def test_the_question_comes_last(name: str, reasoning: str) -> None:
    assert reasoning_by(name, reasoning).render(FULL)[-1].content.endswith("THE {question}?")


@pytest.mark.parametrize("reasoning", STRATEGIES)
@pytest.mark.parametrize("name", choices("prompt"))
def test_reasoning_before_the_answer_is_announced(name: str, reasoning: str) -> None:
    prompt = reasoning_by(name, reasoning)
    aloud = reasoning != "none" or name == "grounded_study"
    assert prompt.final == ("Final answer:" if aloud else "")
    assert (prompt.announcement in text(prompt.render(FULL))) == aloud


def test_layers_stand_in_the_order_of_their_authority() -> None:
    messages = built("prompt=layered", "prompt.project='THE PROJECT'").render(FULL)
    assert [message.role for message in messages] == ["system", "user"]
    order = ("THE PROJECT", "PINNED TEXT", "SAID BEFORE", "THE SUMMARY", "EARLIER QUESTION", "THE {question}?")
    places = [messages[-1].content.index(part) for part in order]
    assert places == sorted(places)
    locked = replace(FULL, files=("a.py", "b.py"))
    shown = built("prompt=layered").render(locked)[-1].content
    files, _, rest = shown.partition("Sources:\n\n")
    assert files.endswith(
        "PINNED TEXT\n\nSAID BEFORE\n\nFile a.py:\n[1] FIRST {text}\n\nFile b.py:\n[2] SECOND {nothing}\n\nSAID AFTER\n\n"
    )
    assert rest.startswith("(none)\n")
    assert built("prompt=cited").render(locked) == built("prompt=cited").render(FULL)


def test_a_strategy_of_ones_own_is_added() -> None:
    prompt = built("+prompt.strategies.slowly='Take your time.'", "prompt.reasoning=slowly")
    assert "Take your time." in text(prompt.render(FULL))
