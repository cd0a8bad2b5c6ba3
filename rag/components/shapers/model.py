"""A chat model says what a question asks for, before and after the search; rules do so where it fails."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from rag.components.shapers.rules import RulesShaper
from rag.core.checks import check_whole
from rag.core.look_checks import check_shape
from rag.core.looks import Shape
from rag.core.models.chat import Given, ask, spent
from rag.core.record_json import json_object, known
from rag.core.records import Message, Request
from rag.core.roles import Generator, fingerprint
from rag.core.roles.looking import Anchors, Shaped, Viewed
from rag.core.text.templates import check_template, fill

ANCHORS = ("question", "project", "history", "intents")


@dataclass(frozen=True, kw_only=True)
class ModelShaper:
    """Asks a chat model once before and once after the search.

    A reply is one JSON object with `intent` (one of those of `rules`), `domain`, `headers` and `search`, the text that is also
    searched for; all may be missing. After another reply or a failed request the shape is that of `rules`, and in the audit it
    stays as it was. `prompt` has {question}, {project}, {history} and {intents}; `audit_prompt` also {shape} and {passages},
    the condensed context or the passages as guards frame them, of `passage_chars` characters at most. `nothing` is the word
    for an empty value, `longest` the most characters of a search text.
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

    def __post_init__(self) -> None:
        check_template("shape.prompt", self.prompt, ("question",), ANCHORS)
        check_template("shape.audit_prompt", self.audit_prompt, ("question", "passages"), (*ANCHORS, "shape", "passages"))
        for name in ("longest", "passage_chars"):
            check_whole(f"shape.{name}", getattr(self, name), 1)

    def fingerprint(self) -> str:
        """The fingerprint of the generator."""
        return fingerprint(self.generator)

    def shape(self, asked: Sequence[Anchors]) -> list[Shaped]:
        """The shapes of the model before the search, or those of the rules."""
        return self._asked(asked, [fill(self.prompt, self._values(one)) for one in asked], self.rules.shape(asked))

    def audit(self, asked: Sequence[Anchors], viewed: Sequence[Viewed]) -> list[Shaped]:
        """The shapes of the model after the search, or those before it."""
        prompts = []
        for one, view in zip(asked, viewed, strict=True):
            lines = {"intent": view.shape.intent, "domain": view.shape.domain, **dict(view.shape.headers)}
            passages = "\n\n".join(filter(None, (view.texts.before, *view.texts.contexts, view.texts.after)))
            values = {"shape": "\n".join(f"{name}: {text}" for name, text in lines.items() if text) or self.nothing}
            prompts.append(fill(self.audit_prompt, self._values(one) | values | {"passages": passages[: self.passage_chars]}))
        return self._asked(asked, prompts, [Shaped(view.shape) for view in viewed])

    def _values(self, asked: Anchors) -> dict[str, str]:
        turns = [asked.recalled.summary, *(f"{turn.role}: {turn.text}" for turn in asked.recalled.turns)]
        values = {"project": asked.project, "history": "\n".join(filter(None, turns)), "intents": ", ".join(self.rules.intents)}
        return {name: text or self.nothing for name, text in values.items()} | {"question": asked.question}

    def _asked(self, asked: Sequence[Anchors], prompts: Sequence[str], other: Sequence[Shaped]) -> list[Shaped]:
        messages = [(Message("system", self.instruction), Message("user", prompt)) for prompt in prompts]
        requests = [Request(one.query, (), each) for one, each in zip(asked, messages, strict=True)]
        return [self._read(given, instead) for given, instead in zip(ask(self.generator, requests), other, strict=True)]

    def _read(self, given: Given, other: Shaped) -> Shaped:
        """The shape in a reply, or another one with the reason."""
        tokens, cost = spent(given)
        try:
            if isinstance(given, str):
                raise ValueError(given)
            shape, text = self._parsed(json_object(given.text))
        except ValueError as error:
            reason = str(error) if isinstance(given, str) else f"the reply {error}"
            return Shaped(other.shape, other.text, reason, tokens, cost)
        return Shaped(shape, text, "", tokens, cost)

    def _parsed(self, found: Mapping[str, Any]) -> tuple[Shape, str]:
        known(found, ("intent", "domain", "headers", "search"))
        headers, texts = found.get("headers") or {}, [found.get(name) or "" for name in ("intent", "domain", "search")]
        if not isinstance(headers, Mapping) or not all(isinstance(text, str) for text in (*texts, *headers.values())):
            raise ValueError("has a value that is not a text")
        intent, domain, search = (" ".join(text.split()) for text in texts)
        if intent and intent not in self.rules.intents:
            raise ValueError(f"has the intent {intent[:60]!r}; there is: {', '.join(self.rules.intents)}")
        if len(search) > self.longest:
            raise ValueError(f"has a search text of {len(search)} characters, and {self.longest} are allowed")
        lines = tuple((name, " ".join(text.split())) for name, text in headers.items() if text.strip())
        shape = Shape(intent, domain, lines)
        check_shape(shape)
        return shape, search
