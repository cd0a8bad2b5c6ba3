"""A prompt made of sections; all of its words are in its config."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from rag.components.prompts.authority import AuthorityOrder
from rag.components.prompts.condensed import CondensedLayout
from rag.components.prompts.source_layout import SOURCE, SourceLayout
from rag.core.checks import check_choice
from rag.core.errors import ConfigError
from rag.core.text.templates import check_template, fill, placeholders, split_around
from rag.core.types import INPUTS, Material, Message, Source

SECTIONS = (
    *("role", "instruction", "context", "output_constraints", "style_or_tone", "output_format", "examples", "goal"),
    *("reasoning", "closing"),
)
"""The sections in the order of a message."""

HOMES: Mapping[str, str] = {"contexts": "context", "question": "closing"}
"""The placeholders that every prompt shows, and the section that shows them if no other section names them."""

OPTIONAL = ("history", "summary", "pinned", "project", "results", "headers")
WORDS = ("refusal", "announcement")
PLACEHOLDERS = (*HOMES, *OPTIONAL, *WORDS)
"""The placeholders of a section."""

LAYOUTS: Mapping[str, tuple[str, ...]] = {
    "context_format": ("number", "text"),
    "figure_format": ("text",),
    "pinned_format": ("name", "text"),
    "summary_format": ("summary",),
    "results_format": ("results",),
    "headers_format": ("headers",),
    "header_format": ("name", "text"),
    "turn_format": ("speaker", "text"),
}
"""The layout parameters, each with the placeholders that it needs."""

ANSWERS: Mapping[str, tuple[str, ...]] = dict.fromkeys(("none", "yes", "no", "withheld"), ()) | {
    "value": ("value", "sources"),
    "list": ("count", "sources", "items"),
    "item": ("value", "sources"),
    "more": ("count",),
    "cited": ("shown", "count"),
    **dict.fromkeys(("absent", "failed", "unverified"), ("refusal", "topic", "checks", "pages")),
}
"""The sentences of answers from records and of refusals, each with its placeholders."""

METADATA = "; metadata of documents go into prompt.metadata=[{name}]"
Section = str | Sequence[str]
"""A text, or a list of texts, each of which becomes a line after a dash."""


@dataclass(frozen=True)
class SectionPrompt:
    """Sections in a fixed order: those named in `system` are the first message, the others the last one.

    The earlier turns are messages between the two, unless a section names {history}. The other placeholders of a section are
    {question}, {contexts}, {summary}, {pinned} (whole documents), {results} (texts of records), {project} (the text of
    `project`), {headers} (the lines of a shape), {refusal} and {announcement}. {contexts} without any context becomes
    `no_contexts`, the others without content become `nothing`.

    All material is shown, named or not. By default contexts are in `context`, the question in `closing`, the summary of the
    conversation, pinned documents and results above the section with the contexts, headers above the one with the question.
    {contexts} is the condensed context where there is one and `condensed` lays it out. It includes the texts of guards,
    directly before the first context and after the last one. Contexts from locked files are numbered in {pinned} instead,
    behind the pinned documents, if a section names it.

    `context_format` is the layout of a source: {number}, {text} and optionally {document} (its doc_id), {title} (the first
    heading of the document, or its file name), {section} (the headings above the passage, outermost first, or {title}), {page},
    and the metadata {date}, {status} and those that `metadata` names. What a document does not have is an empty text.
    `figure_format` is the layout of the parts of a {text} that a model wrote about figures.

    `answers` are the sentences of answers from records (`rag.pipeline.prompt.record_answers`) and of refusals, as in ANSWERS.

    `authority` says what is dropped from a conversation that files in the prompt contradict (`rag.pipeline.prompt.authority`).

    `reasoning` names one of `strategies`. A strategy that names {announcement} asks for reasoning first: the answer begins
    after these words. `inputs` are beginnings of lines before it that name the kind of the message, each with one of INPUTS.
    ConfigError for a placeholder that is unknown or missing, or that would show contexts twice.
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
    inputs: Mapping[str, str] = field(default_factory=dict)
    project: str = ""
    system: Sequence[str] = ("role", "instruction", "output_constraints", "style_or_tone", "output_format", "examples", "goal")
    metadata: Sequence[str] = ()
    answers: Mapping[str, str] = field(default_factory=dict)
    strategies: Mapping[str, Section] = field(default_factory=lambda: {"none": ""})
    section_separator: str = "\n\n"
    context_separator: str = "\n\n"
    context_format: str = "[{number}] {text}"
    figure_format: str = "{text}"
    no_contexts: str = ""
    pinned_format: str = "{name}\n{text}"
    summary_format: str = "{summary}"
    results_format: str = "{results}"
    headers_format: str = "{headers}"
    header_format: str = "{name}: {text}"
    turn_format: str = "{speaker}: {text}"
    nothing: str = ""
    authority: AuthorityOrder | None = None
    condensed: CondensedLayout | None = None

    def __post_init__(self) -> None:
        if isinstance(self.metadata, str) or {*self.metadata} & {"number", *SOURCE[:5]}:
            raise ConfigError("prompt.metadata", f"is {self.metadata!r}", "a list of keys, such as [department, year]")
        check_choice("prompt.reasoning", self.reasoning, self.strategies)
        if not _lines(self.instruction).strip():
            raise ConfigError("prompt.instruction", "is empty", "write what the model does with the contexts and the question")
        for layout, needed in LAYOUTS.items():
            is_source = layout == "context_format"
            known, hint = ((*needed, *SOURCE[1:], *self.metadata), METADATA) if is_source else (needed, "")
            check_template(f"prompt.{layout}", getattr(self, layout), needed, known, hint)
        for kind in self.inputs.values():
            check_choice("prompt.inputs", kind, INPUTS)
        for name, text in self.answers.items():
            check_choice("prompt.answers", name, ANSWERS)
            check_template(f"prompt.answers.{name}", text, set(ANSWERS[name]) & {"value", "sources", "items"}, ANSWERS[name])
        for name, text in self._sections.items():
            check_template(f"prompt.{name}", text, known=PLACEHOLDERS)
        self._check_places()

    def _check_places(self) -> None:
        for name, home in HOMES.items():
            if not self._names(name):
                check_template(f"prompt.{home}", self._sections[home], (name,))
        if sum(placeholders(text).count("contexts") for text in self._sections.values()) > 1:
            raise ConfigError("prompt", "{contexts} appears more than once", "remove one")
        for word in WORDS:
            if self._names(word) and not getattr(self, word).strip():
                raise ConfigError(f"prompt.{word}", f"is empty, and a section uses {{{word}}}", f"set prompt.{word}=<words>")
        for name in self.system:
            check_choice("prompt.system", name, SECTIONS)
            if "question" in placeholders(self._sections.get(name, "")):
                raise ConfigError("prompt.system", f"names {name!r}, which shows the question", "the last message shows it")

    @property
    def final(self) -> str:
        """The words after which the answer begins; empty if the whole reply is the answer."""
        return self.announcement if self._names("announcement") else ""

    @cached_property
    def quoting(self) -> SourceLayout:
        """The layout of the document text of a source, which guards frame."""
        inner = split_around(self.context_format, self._parts)[1]
        return SourceLayout(inner, self.figure_format, tuple(self.metadata))

    def quoted(self, sources: Sequence[Source]) -> tuple[str, ...]:
        """`context_format` of each source, from its first to its last placeholder: the document text, which guards frame."""
        return self.quoting.quoted(sources)

    @property
    def _parts(self) -> tuple[str, ...]:
        """The placeholders of a source that guards frame."""
        return (*SOURCE, *self.metadata)

    def render(self, material: Material) -> tuple[Message, ...]:
        """The messages; contexts are numbered from 1 in their order."""
        values = self._values(material)
        above = self._above(material, values)
        first, last = self._message(values, above, True), self._message(values, above, False)
        turns = () if self._names("history") else material.recalled.turns
        history = (Message(turn.role, turn.text) for turn in turns)
        return (*((Message("system", first),) if first else ()), *history, Message("user", last))

    @cached_property
    def _sections(self) -> Mapping[str, str]:
        """The templates of the sections that are not empty, in their order."""
        texts = {name: _lines(getattr(self, name)) for name in SECTIONS}
        texts["reasoning"] = _lines(self.strategies[self.reasoning])
        used = {name for text in texts.values() for name in placeholders(text)}
        for name, home in HOMES.items():
            if name not in used and not texts[home]:
                texts[home] = f"{{{name}}}"
        return {name: text for name, text in texts.items() if text}

    def _names(self, placeholder: str) -> bool:
        return any(placeholder in placeholders(text) for text in self._sections.values())

    def _message(self, values: Mapping[str, str], above: Sequence[str], system: bool) -> str:
        """The sections of one of the two messages; `above` goes before the section with the contexts."""
        parts: list[str] = []
        given = values["headers"] != self.nothing and not self._names("headers")
        headers = [fill(self.headers_format, values)] if given else []
        for name, text in self._sections.items():
            if (name in self.system) == system:
                parts += above if "contexts" in placeholders(text) else ()
                parts += headers if "question" in placeholders(text) else ()
                parts.append(fill(text, values))
        return self.section_separator.join(parts)

    def _above(self, material: Material, values: Mapping[str, str]) -> list[str]:
        """The summary, the pinned documents and the results of records, if no section names them."""
        summary = fill(self.summary_format, {"summary": material.recalled.summary}) if material.recalled.summary else ""
        results = fill(self.results_format, values) if material.results else ""
        unnamed = {"pinned": values["pinned"] if material.pinned else "", "summary": summary, "results": results}
        return [text for name, text in unnamed.items() if text and not self._names(name)]

    def _values(self, material: Material) -> dict[str, str]:
        """The value of every placeholder."""
        turns = (fill(self.turn_format, {"speaker": turn.role, "text": turn.text}) for turn in material.recalled.turns)
        pinned = [fill(self.pinned_format, {"name": document.doc_id, "text": document.text}) for document in material.pinned]
        contexts = self._contexts(material)
        if material.files and self._names("pinned"):
            pinned, contexts = [*pinned, contexts], self.no_contexts
        values = {
            "history": "\n".join(turns),
            "summary": material.recalled.summary,
            "pinned": self.context_separator.join(pinned),
            "project": self.project,
            "results": self.context_separator.join(material.results),
            "headers": "\n".join(fill(self.header_format, {"name": name, "text": text}) for name, text in material.headers),
        }
        shown = {name: text or self.nothing for name, text in values.items()}
        words = {word: getattr(self, word) for word in WORDS}
        return shown | words | {"contexts": contexts, "question": material.query.text}

    def _contexts(self, material: Material) -> str:
        """The contexts with the texts of guards around them."""
        head, _, tail = split_around(self.context_format, self._parts)
        if material.condensed and self.condensed:
            texts = material.before, self.condensed.shown(material.condensed), material.after
            return self.context_separator.join(filter(None, texts))
        numbered = ((str(number), text) for number, text in enumerate(material.contexts, 1))
        shown = [fill(head, {"number": number}) + text + fill(tail, {"number": number}) for number, text in numbered]
        if material.files and self._names("pinned"):
            rows = zip(material.files, shown, strict=True)
            shown = [fill(self.pinned_format, {"name": name, "text": text}) for name, text in rows]
        return self.context_separator.join(filter(None, (material.before, *(shown or [self.no_contexts]), material.after)))


def _lines(section: Section) -> str:
    return section if isinstance(section, str) else "\n".join(f"- {line}" for line in section)
