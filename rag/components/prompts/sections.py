"""A prompt made of sections, whose every word stands in its config."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from rag.components.prompts.templates import check, fill, parted, placeholders
from rag.core.errors import ConfigError, closest
from rag.core.records import Material, Message, Source

SECTIONS = (
    "role",
    "instruction",
    "context",
    "output_constraints",
    "style_or_tone",
    "output_format",
    "examples",
    "goal",
    "reasoning",
    "closing",
)
"""The sections in the order in which they stand in a message."""

HOMES: Mapping[str, str] = {"contexts": "context", "question": "closing"}
"""What every prompt shows, and the section in which it stands where no other names it."""

OPTIONAL = ("history", "summary", "pinned", "project")
WORDS = ("refusal", "announcement")
PLACEHOLDERS = (*HOMES, *OPTIONAL, *WORDS)
"""What a section may name."""

LAYOUTS: Mapping[str, tuple[str, ...]] = {
    "context_format": ("number", "text"),
    "pinned_format": ("name", "text"),
    "summary_format": ("summary",),
    "turn_format": ("speaker", "text"),
}
"""Layouts of one thing, each with the placeholders that it must hold."""

SOURCE = ("text", "document", "title", "section")
"""What `context_format` may name of a source; `text` it must."""
LABEL = 200
"""The most characters of a document's name, a title and a section that are shown."""

Section = str | Sequence[str]
"""A text, or a list of texts, each of which becomes a line behind a dash."""


@dataclass(frozen=True)
class SectionPrompt:
    """Sections in a fixed order: those that `system` names make the first message, the others the last one.

    Between the two stand the earlier turns as they were said, or nowhere but in the section that names {history}. Other
    placeholders of a section: {question}, {contexts}, {summary}, {pinned} (documents that go in whole), {project} (what
    `project` says), {refusal}, {announcement}. {contexts} without any reads as `no_contexts`, the others as `nothing`.

    All of the material is shown, named or not. Contexts and question stand in `context` and `closing` where nothing names them,
    the summary of a conversation and pinned documents above the section with the contexts. What guards say before the contexts
    stands right above the first of them, what they say after them right below the last: both inside of {contexts}.

    A source is shown as `context_format`: {number} and {text}, and where it names them {document} (its doc_id), {title} (the
    first heading of the document, or its file name) and {section} (the headings above the passage, outermost first).

    `reasoning` names one of `strategies`. One that names {announcement} asks for reasoning first: the answer begins behind
    these words. ConfigError for a placeholder that is unknown, that a section lacks, or that would show contexts twice.
    """

    instruction: Section
    role: Section = ""
    context: Section = ""
    output_constraints: Section = ""
    style_or_tone: Section = ""
    output_format: Section = ""
    examples: Section = ""
    goal: Section = ""
    reasoning: str = "none"
    closing: Section = ""
    refusal: str = ""
    announcement: str = ""
    project: str = ""
    system: Sequence[str] = ("role", "instruction", "output_constraints", "style_or_tone", "output_format", "examples", "goal")
    strategies: Mapping[str, Section] = field(default_factory=lambda: {"none": ""})
    section_separator: str = "\n\n"
    context_separator: str = "\n\n"
    context_format: str = "[{number}] {text}"
    no_contexts: str = ""
    pinned_format: str = "{name}\n{text}"
    summary_format: str = "{summary}"
    turn_format: str = "{speaker}: {text}"
    nothing: str = ""

    def __post_init__(self) -> None:
        if self.reasoning not in self.strategies:
            what = f"there is no strategy {self.reasoning!r}"
            raise ConfigError("prompt.reasoning", what, closest(self.reasoning, self.strategies))
        if not _lines(self.instruction).strip():
            raise ConfigError("prompt.instruction", "is empty", "say what is to be done with the contexts and the question")
        for layout, needed in LAYOUTS.items():
            known = (*needed, *SOURCE[1:]) if layout == "context_format" else needed
            check(f"prompt.{layout}", getattr(self, layout), known, needed)
        for name, text in self._sections.items():
            check(f"prompt.{name}", text, PLACEHOLDERS)
        self._check_places()

    def _check_places(self) -> None:
        for name, home in HOMES.items():
            if not any(name in placeholders(text) for text in self._sections.values()):
                where, what = f"prompt.{home}", f"lacks the placeholder {{{name}}}"
                raise ConfigError(where, what, f"write {{{name}}} where it is to stand")
        if sum(placeholders(text).count("contexts") for text in self._sections.values()) > 1:
            raise ConfigError("prompt", "shows {contexts} more than once", "once costs enough")
        for word in WORDS:
            if self._names(word) and not getattr(self, word).strip():
                raise ConfigError(f"prompt.{word}", f"is empty, and {{{word}}} stands for it", f"set prompt.{word}=<words>")
        for name in self.system:
            if name not in SECTIONS:
                raise ConfigError("prompt.system", f"there is no section {name!r}", closest(name, SECTIONS))
            if "question" in placeholders(self._sections.get(name, "")):
                raise ConfigError("prompt.system", f"holds {name!r}, which shows the question", "the last message shows it")

    @property
    def final(self) -> str:
        """The words behind which a reply answers, empty where a reply is all answer."""
        return self.announcement if self._names("announcement") else ""

    def quoted(self, sources: Sequence[Source]) -> tuple[str, ...]:
        """`context_format` from its first to its last placeholder of a source: what documents say, guards frame as one."""
        inner = parted(self.context_format, SOURCE)[1]
        return tuple(fill(inner, self._source(number, source)) for number, source in enumerate(sources, 1))

    def _source(self, number: int, source: Source) -> dict[str, str]:
        labels = {"document": source.document, "title": source.title, "section": source.section or self.nothing}
        return {"number": str(number), "text": source.text} | {name: _label(text) for name, text in labels.items()}

    def render(self, material: Material) -> tuple[Message, ...]:
        """Lay out the messages; contexts are numbered from 1 in the order given."""
        values = self._values(material)
        above = self._above(material, values)
        opening, asked = self._message(values, above, True), self._message(values, above, False)
        said = () if self._names("history") else material.recalled.turns
        turns = (Message(turn.role, turn.text) for turn in said)
        return (*((Message("system", opening),) if opening else ()), *turns, Message("user", asked))

    @cached_property
    def _sections(self) -> Mapping[str, str]:
        """The template of every section that is not empty, in their order."""
        texts = {name: _lines(getattr(self, name)) for name in SECTIONS} | {"reasoning": self._strategy}
        used = {name for text in texts.values() for name in placeholders(text)}
        for name, home in HOMES.items():
            if name not in used and not texts[home]:
                texts[home] = f"{{{name}}}"
        return {name: text for name, text in texts.items() if text}

    @property
    def _strategy(self) -> str:
        return _lines(self.strategies[self.reasoning])

    def _names(self, placeholder: str) -> bool:
        return any(placeholder in placeholders(text) for text in self._sections.values())

    def _message(self, values: Mapping[str, str], above: Sequence[str], system: bool) -> str:
        """The sections of one of the two messages, with what stands above the contexts."""
        parts: list[str] = []
        for name, text in self._sections.items():
            if (name in self.system) == system:
                parts += [*(above if "contexts" in placeholders(text) else ()), fill(text, values)]
        return self.section_separator.join(parts)

    def _above(self, material: Material, values: Mapping[str, str]) -> list[str]:
        """The summary and the pinned documents, where no section names them."""
        summary = fill(self.summary_format, {"summary": material.recalled.summary}) if material.recalled.summary else ""
        unnamed = {"pinned": values["pinned"] if material.pinned else "", "summary": summary}
        return [text for name, text in unnamed.items() if text and not self._names(name)]

    def _values(self, material: Material) -> dict[str, str]:
        """What every placeholder stands for."""
        turns = (fill(self.turn_format, {"speaker": turn.role, "text": turn.text}) for turn in material.recalled.turns)
        pinned = (fill(self.pinned_format, {"name": one.doc_id, "text": one.text}) for one in material.pinned)
        found = {
            "history": "\n".join(turns),
            "summary": material.recalled.summary,
            "pinned": self.context_separator.join(pinned),
            "project": self.project,
        }
        shown = {name: text or self.nothing for name, text in found.items()}
        words = {word: getattr(self, word) for word in WORDS}
        return shown | words | {"contexts": self._contexts(material), "question": material.query.text}

    def _contexts(self, material: Material) -> str:
        """The contexts with what guards say around them."""
        head, _, tail = parted(self.context_format, SOURCE)
        numbered = ((str(number), text) for number, text in enumerate(material.contexts, 1))
        shown = [fill(head, {"number": number}) + text + fill(tail, {"number": number}) for number, text in numbered]
        around = (material.before, *(shown or [self.no_contexts]), material.after)
        return self.context_separator.join(filter(None, around))


def _label(text: str) -> str:
    """A name of one line: no character of it can begin another."""
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
    return line if len(line) <= LABEL else f"{line[: LABEL - 1].rstrip()}…"


def _lines(section: Section) -> str:
    return section if isinstance(section, str) else "\n".join(f"- {line}" for line in section)
