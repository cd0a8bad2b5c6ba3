"""The plain prompt: closed-form layout, braces that stay braces, placeholders that are checked."""

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from rag.errors import ConfigError
from rag.prompts.plain import PlainPrompt
from rag.records import Message, Query, Turn

CONF = Path(__file__).parents[2] / "conf" / "prompt"
SMALL = {"system": "Be brief.", "context_format": "[{number}] {text}", "question_format": "{contexts}\n--\n{question}"}


def test_layout() -> None:
    history = (Turn("user", "Who?"), Turn("assistant", "Ada. [1]"))
    messages = PlainPrompt(**SMALL).render(Query("q", "And when?", history), ["In 1843.", "In London."])
    assert messages == (
        Message("system", "Be brief."),
        Message("user", "Who?"),
        Message("assistant", "Ada. [1]"),
        Message("user", "[1] In 1843.\n\n[2] In London.\n--\nAnd when?"),
    )


def test_no_contexts_and_no_system() -> None:
    prompt = PlainPrompt(**(SMALL | {"system": "", "no_contexts": "(nothing)"}))
    assert prompt.render(Query("q", "Why?"), []) == (Message("user", "(nothing)\n--\nWhy?"),)


def test_what_is_filled_in_is_not_read_as_a_template() -> None:
    (_, asked) = PlainPrompt(**SMALL).render(Query("q", "{contexts} {number} {}"), ["{question} {text} {0} {{x}} %s \\1"])
    assert asked.content == "[1] {question} {text} {0} {{x}} %s \\1\n--\n{contexts} {number} {}"


@given(st.text(), st.lists(st.text(), max_size=4))
def test_every_character_arrives(question: str, contexts: list[str]) -> None:
    asked = PlainPrompt(**SMALL).render(Query("q", question), contexts)[-1].content
    sources = "\n\n".join(f"[{number}] {text}" for number, text in enumerate(contexts, 1))
    assert asked == f"{sources}\n--\n{question}"


@pytest.mark.parametrize(
    ("field", "text", "named"),
    [
        ("context_format", "{number}", "{text}"),
        ("context_format", "{number} {text} {title}", "{title}"),
        ("question_format", "{question}", "{contexts}"),
        ("question_format", "{contexts} {quesiton}", "{quesiton}"),
        ("system", "Answer {question}", "{question}"),
        ("no_contexts", 3, "3"),
    ],
)
def test_mistakes_name_their_key(field: str, text: object, named: str) -> None:
    with pytest.raises(ConfigError) as caught:
        PlainPrompt(**(SMALL | {field: text}))  # type: ignore[arg-type]
    assert caught.value.where == f"prompt.{field}"
    assert named in caught.value.what


def test_braces_that_are_no_placeholder_are_text() -> None:
    prompt = PlainPrompt(**(SMALL | {"system": 'Reply as {"answer": ...} or {}.'}))
    assert prompt.render(Query("q", "?"), [])[0].content == 'Reply as {"answer": ...} or {}.'


@pytest.mark.parametrize("path", sorted(CONF.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_choice_shows_question_and_numbered_contexts(path: Path) -> None:
    node = yaml.safe_load(path.read_text("utf-8"))
    assert node.pop("_target_") == "rag.prompts.plain.PlainPrompt"
    query = Query("q", "Where is it?", (Turn("user", "Before"), Turn("assistant", "After")))
    messages = PlainPrompt(**node).render(query, ["First text", "Second text"])
    assert messages[-1].role == "user"
    assert "Where is it?" in messages[-1].content
    assert messages[-1].content.index("[1] First text") < messages[-1].content.index("[2] Second text")
    assert [message.content for message in messages[-3:-1]] == ["Before", "After"]
