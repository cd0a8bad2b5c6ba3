"""Prompts of sections: closed-form layout, braces that stay braces, all material shown, placeholders that are checked."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.components.prompts.sections import SECTIONS, SectionPrompt
from rag.core.errors import ConfigError
from rag.core.text.templates import fill, placeholders
from rag.core.types import Document, Material, Message, Query, Recalled, Turn

SMALL: dict[str, Any] = {"instruction": "Be brief.", "context": "Read:\n{contexts}", "closing": "Asked: {question}"}
TURNS = (Turn("user", "Who?"), Turn("assistant", "Ada. [1]"))


def material(question: str = "And when?", contexts: tuple[str, ...] = ("In 1843.", "In London."), **more: Any) -> Material:
    return Material(Query("q", question), contexts, **more)


def only(**sections: Any) -> str:
    """The last message of a prompt without a first one."""
    (message,) = SectionPrompt(**{"instruction": "Do.", "system": [], **sections}).render(material())
    return message.content


def test_layout() -> None:
    assert SectionPrompt(**SMALL).render(material(recalled=Recalled(TURNS))) == (
        Message("system", "Be brief."),
        Message("user", "Who?"),
        Message("assistant", "Ada. [1]"),
        Message("user", "Read:\n[1] In 1843.\n\n[2] In London.\n\nAsked: And when?"),
    )


def test_sections_have_a_fixed_order() -> None:
    given = {name: f"<{name}>" for name in reversed(SECTIONS)} | {"context": "{contexts}", "closing": "{question}"}
    given |= {"reasoning": "own", "strategies": {"own": "<reasoning>"}, "system": [], "context_format": "{number}{text}"}
    (message,) = SectionPrompt(**given).render(material(contexts=("C",)))
    told = [{"context": "1C", "closing": "And when?"}.get(name, f"<{name}>") for name in SECTIONS]
    assert message.content == "\n\n".join(told)


def test_a_list_is_lines_behind_dashes() -> None:
    assert only(output_constraints=["One.", "Two: {refusal}"], refusal="No.").startswith("Do.\n\n[1]")
    assert "\n\n- One.\n- Two: No.\n\n" in only(output_constraints=["One.", "Two: {refusal}"], refusal="No.")


def test_all_material_is_shown_where_sections_name_it() -> None:
    named_all = {"goal": "{pinned}|{summary}|{history}|{project}", "project": "P", "system": []}
    more = {"pinned": (Document("a.md", "Pin"),), "recalled": Recalled(TURNS, "Sum")}
    (message,) = SectionPrompt("Do.", **named_all).render(material(contexts=("C",), **more))
    assert message.content == "Do.\n\n[1] C\n\na.md\nPin|Sum|user: Who?\nassistant: Ada. [1]|P\n\nAnd when?"


def test_an_announcement_is_asked_for_where_it_is_named() -> None:
    strategies = {"none": "", "aloud": "Think, then write {announcement}"}
    assert SectionPrompt("Do.", announcement="So:", strategies=strategies).final == ""
    assert SectionPrompt("Do.", announcement="So:", strategies=strategies, reasoning="aloud").final == "So:"
    assert SectionPrompt("Do. {announcement}", announcement="So:").final == "So:"


# Braces


def test_what_is_filled_in_is_not_read_as_a_template() -> None:
    asked = material("{contexts} {number} {}", ("{question} {text} {0} {{x}} %s \\1",), before="{after}")
    prompt = SectionPrompt(**SMALL)
    assert prompt.render(asked)[-1].content == (
        "Read:\n{after}\n\n[1] {question} {text} {0} {{x}} %s \\1\n\nAsked: {contexts} {number} {}"
    )


@given(st.text(), st.lists(st.text(), max_size=4), st.text(), st.text(), st.text(), st.text())
def test_every_character_arrives(question: str, contexts: list[str], pin: str, summary: str, before: str, after: str) -> None:
    given = Material(Query("q", question), tuple(contexts), Recalled((), summary), (Document("d", pin),), before, after)
    prompt = SectionPrompt("Do.", goal="<{pinned}<{summary}<", system=[], pinned_format="{name}{text}")
    sources = [f"[{number}] {text}" for number, text in enumerate(contexts, 1)]
    middle = "\n\n".join(filter(None, (before, *sources, after)))
    assert prompt.render(given)[0].content == f"Do.\n\n{middle}\n\n<d{pin}<{summary}<\n\n{question}"


@given(st.text(alphabet="{}ab_ 1"), st.text(alphabet="{}ab"))
def test_one_pass_fills_what_is_named_and_nothing_else(template: str, value: str) -> None:
    filled = fill(template, dict.fromkeys(placeholders(template), value))
    assert filled.count("{") >= len(placeholders(template)) * value.count("{")
    if not placeholders(template) and "{{" not in template:
        assert filled == template


@pytest.mark.parametrize(
    ("template", "filled"),
    [("{a}", "<{a}>"), ("{{a}}", "{a}"), ("{{{a}}}", "{{a}}"), ('{"a": {"b": 1}}', '{"a": {"b": 1}}'), ("{a}}", "<{a}>}")],
)
def test_doubled_braces_write_single_ones(template: str, filled: str) -> None:
    assert fill(template, {"a": "<{a}>"}) == filled


# Mistakes


@pytest.mark.parametrize(
    ("given", "where", "what", "remedy"),
    [
        ({"instruction": "  "}, "prompt.instruction", "empty", "write what"),
        ({"instruction": "{quesiton}"}, "prompt.instruction", "{quesiton}", "did you mean 'question'"),
        ({"goal": ["a", "{x}"]}, "prompt.goal", "{x}", "{{x}} writes {x}"),
        ({"context": "Read."}, "prompt.context", "{contexts}", "write {contexts}"),
        ({"closing": "Go."}, "prompt.closing", "{question}", "write {question}"),
        ({"goal": "{contexts}", "context": "{contexts}"}, "prompt", "more than once", "remove"),
        ({"goal": "{refusal}"}, "prompt.refusal", "is empty", "prompt.refusal="),
        ({"goal": "{announcement}"}, "prompt.announcement", "is empty", "prompt.announcement="),
        ({"reasoning": "chain"}, "prompt.reasoning", "'chain'", "none"),
        ({"reasoning": "x", "strategies": {"x": "{y}"}}, "prompt.reasoning", "{y}", "there is"),
        ({"system": ["rol"]}, "prompt.system", "'rol'", "did you mean 'role'"),
        ({"system": ["closing"]}, "prompt.system", "question", "last message"),
        ({"context_format": "{number}"}, "prompt.context_format", "{text}", "write {text}"),
        ({"context_format": "{number} {text} {author}"}, "prompt.context_format", "{author}", "prompt.metadata=[author]"),
        ({"summary_format": "Before:"}, "prompt.summary_format", "{summary}", "write {summary}"),
    ],
)
def test_mistakes_name_their_key(given: dict[str, Any], where: str, what: str, remedy: str) -> None:
    with pytest.raises(ConfigError) as caught:
        SectionPrompt(**{"instruction": "Do.", **given})
    assert caught.value.where == where
    assert what in caught.value.what
    assert remedy in caught.value.remedy
