"""A chat model says what a question asks for, before and after the search; rules do so where it fails."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from rag.components.shapers.rules import RulesShaper
from rag.core.checks import check_whole
from rag.core.look_checks import check_shape, one_line
from rag.core.looks import Shape
from rag.core.models.typed_reply import Typed, ask_typed, typed
from rag.core.roles import Generator
from rag.core.roles.looking import Asked, Shaped
from rag.core.text.templates import check_template, fill
from rag.core.types import Message, Request

ANCHORS = ("question", "project", "history", "intents")


@dataclass(frozen=True)
class Described:
    """The JSON object of a reply; all may be missing."""

    intent: str = ""
    domain: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    search: str = ""


@dataclass(frozen=True, kw_only=True)
class ModelShaper:
    """Asks a chat model once before and once after the search, for one JSON object with the fields of `Described`.

    Its intent is one of those of `rules`, or none. After another reply or a failed request the shape is that of `rules`, and
    after the search the one before. `prompt` has {question}, {project}, {history} and {intents}; `audit_prompt` also {shape}
    and {passages}, `passage_chars` characters of the condensed context or of the passages. `nothing` stands for an empty value,
    `longest` is the most characters of a search text.
    """

    generator: Generator
    rules: RulesShaper
    instruction: str
    prompt: str
    audit_prompt: str
    nothing: str = "-"
    longest: int = 300
    passage_chars: int = 6000
    costly: ClassVar[bool] = True
    reads: ClassVar[tuple[str, ...]] = ("conversation", "project", "passages")

    def __post_init__(self) -> None:
        check_template("shape.prompt", self.prompt, ("question",), ANCHORS)
        check_template("shape.audit_prompt", self.audit_prompt, ("question", "passages"), (*ANCHORS, "shape", "passages"))
        for name in ("longest", "passage_chars"):
            check_whole(f"shape.{name}", getattr(self, name), 1)

    def shape(self, asked: Sequence[Asked]) -> list[Shaped]:
        """The shapes of the model, or the others with the reason."""
        others = [Shaped(one.before) if one.before else self.rules.shape([one])[0] for one in asked]
        replies = ask_typed(self.generator, [Typed(self._request(one), self._read) for one in asked])
        return [
            replace(each.value or other, failure=each.quoted, tokens=each.spent.tokens, cost=each.spent.cost)
            for each, other in zip(replies, others, strict=True)
        ]

    def _request(self, asked: Asked) -> Request:
        turns, shape, read = asked.recalled.turns, asked.before or Shape(), asked.read
        described = {"intent": shape.intent, "domain": shape.domain, "headers": dict(shape.headers)}
        values = {
            "project": asked.project,
            "history": "\n".join(filter(None, (asked.recalled.summary, *(f"{turn.role}: {turn.text}" for turn in turns)))),
            "intents": ", ".join(self.rules.phrases),
            "shape": json.dumps(described, ensure_ascii=False),
            "passages": "\n\n".join(filter(None, (read.before, *read.contexts, read.after)))[: self.passage_chars],
        }
        shown = {name: text or self.nothing for name, text in values.items()} | {"question": asked.question}
        prompt = fill(self.audit_prompt if asked.before else self.prompt, shown)
        return Request(asked.query, (), (Message("system", self.instruction), Message("user", prompt)))

    def _read(self, reply: str) -> Shaped:
        read = typed(reply, Described)
        if read.intent not in ("", *self.rules.phrases) or len(read.search) > self.longest:
            raise ValueError(f"has the intent {read.intent[:40]!r}, or a search text that is too long")
        lines = tuple((name, one_line(text)) for name, text in read.headers.items() if text.strip())
        shape = Shape(read.intent, one_line(read.domain), lines)
        check_shape(shape)
        return Shaped(shape, one_line(read.search))
