"""A chat model condenses passages to facts, constraints and open issues, each with its sources."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rag.core.looks import KINDS, Condensed
from rag.core.models.typed_reply import Typed, ask_typed, check_names, json_object, typed
from rag.core.roles import Generator
from rag.core.roles.looking import Condensation, Kept
from rag.core.text.templates import check_template, fill
from rag.core.types import Message, Request


@dataclass(frozen=True, kw_only=True)
class ModelCondenser:
    """Asks a chat model once for a JSON object with `facts`, `constraints` and `open_issues`.

    Each is a list of objects with `text` and `sources`, the numbers of passages. A reply of another form and a failed request
    leave the passages as they are. `prompt` has {question} and {passages}, each in the form of `source` and as guards frame it.
    """

    generator: Generator
    instruction: str
    prompt: str
    source: str = "[{number}] {text}"
    costly: ClassVar[bool] = True
    reads: ClassVar[tuple[str, ...]] = ("passages",)

    def __post_init__(self) -> None:
        check_template("condense.prompt", self.prompt, ("question", "passages"), ("question", "passages"))
        check_template("condense.source", self.source, ("number", "text"), ("number", "text"))

    def condense(self, kept: Sequence[Kept]) -> list[Condensation]:
        """What the model makes of the passages of each question."""
        asked = ask_typed(self.generator, [Typed(self._request(one), self._read) for one in kept])
        return [Condensation(each.value, each.quoted, each.spent.tokens, each.spent.cost) for each in asked]

    def _request(self, kept: Kept) -> Request:
        framed, numbered = kept.framed, enumerate(kept.framed.contexts, 1)
        shown = [fill(self.source, {"number": str(number), "text": text}) for number, text in numbered]
        passages = "\n\n".join(filter(None, (framed.before, *shown, framed.after)))
        prompt = fill(self.prompt, {"question": kept.question, "passages": passages})
        return Request(kept.query, (), (Message("system", self.instruction), Message("user", prompt)))

    def _read(self, reply: str) -> Condensed:
        """The items of a reply but for the examples of the instruction, which a small model repeats."""
        found = json_object(reply)
        check_names(found, KINDS)
        read, told = typed({kind: found.get(kind) or () for kind in KINDS}, Condensed), self.instruction.lower()
        return Condensed(*(tuple(one for one in getattr(read, kind) if f'"{one.text.lower()}"' not in told) for kind in KINDS))
