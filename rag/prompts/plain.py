"""A prompt whose every word stands in its config."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from rag.errors import ConfigError, closest
from rag.records import Material, Message

PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")

FIELDS: Mapping[str, tuple[str, ...]] = {
    "system": (),
    "context_format": ("number", "text"),
    "context_separator": (),
    "no_contexts": (),
    "question_format": ("contexts", "question"),
}
"""The placeholders that each text must hold; any other is a mistake."""


@dataclass(frozen=True)
class PlainPrompt:
    """One system message, the earlier turns as they were said, and one user message with numbered sources and the question.

    `{number}` and `{text}` are filled in `context_format`, `{contexts}` and `{question}` in `question_format`; a brace in a
    document or a question is a brace. ConfigError if a placeholder is missing or unknown.
    """

    system: str
    context_format: str
    question_format: str
    context_separator: str = "\n\n"
    no_contexts: str = ""
    refusal: str = ""

    def __post_init__(self) -> None:
        for field, wanted in FIELDS.items():
            _check(field, getattr(self, field), wanted)

    def render(self, material: Material) -> tuple[Message, ...]:
        """Lay out the messages; contexts are numbered from 1 in the order given."""
        numbered = enumerate(material.contexts, 1)
        sources = self.context_separator.join(
            _fill(self.context_format, {"number": str(number), "text": text}) for number, text in numbered
        )
        asked = _fill(self.question_format, {"contexts": sources or self.no_contexts, "question": material.query.text})
        opening = (Message("system", self.system),) if self.system else ()
        turns = (Message(turn.role, turn.text) for turn in material.recalled.turns)
        return (*opening, *turns, Message("user", asked))


def _fill(template: str, values: Mapping[str, str]) -> str:
    """Fill every placeholder in one pass, so that nothing which is filled in is read as a placeholder again."""
    return PLACEHOLDER.sub(lambda found: values[found[1]], template)


def _check(field: str, template: object, wanted: tuple[str, ...]) -> None:
    where = f"prompt.{field}"
    if not isinstance(template, str):
        raise ConfigError(where, f"is {template!r}, which is no text", "write it as a quoted string")
    found = PLACEHOLDER.findall(template)
    for name in found:
        if name not in wanted:
            raise ConfigError(where, f"holds the unknown placeholder {{{name}}}", closest(name, wanted))
    for name in wanted:
        if name not in found:
            raise ConfigError(where, f"lacks the placeholder {{{name}}}", f"write {{{name}}} where it is to stand")
