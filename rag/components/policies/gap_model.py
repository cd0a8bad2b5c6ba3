"""A gap loop with a chat model: it takes the question apart, and says what the passages lack."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rag.components.policies.actions import search_texts
from rag.components.policies.gap_loop import GAPS, PARTS, GapLoop, Texts
from rag.components.policies.trail import Trail, within
from rag.core.checks import check_whole
from rag.core.looks import Act
from rag.core.rankings import Rankings
from rag.core.roles import Generator
from rag.core.roles.looking import Tools
from rag.core.text.templates import check_template, fill
from rag.core.types import Message, Query, Request


@dataclass(frozen=True, kw_only=True)
class ModelGapLoop(GapLoop):
    """Asks a model for one to three questions, and after the searches for at most two more in each round.

    A reply is one JSON object, `{"queries": ["…"]}`. A reply of another form, a failed request, or a request that does not fit
    into `tokens` ends the loop with what was found. `longest` is the most characters of a query, `passage_chars` those of the
    passages in a request. `parts_prompt` has {question}, `gap_prompt` also {asked} (what was searched for) and {passages}.
    """

    generator: Generator
    parts_instruction: str
    parts_prompt: str
    gap_instruction: str
    gap_prompt: str
    tokens: int | None = None
    longest: int = 300
    passage_chars: int = 6000
    costly: ClassVar[bool] = True
    reads: ClassVar[tuple[str, ...]] = ("passages",)
    grows: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_template("policy.parts_prompt", self.parts_prompt, ("question",), ("question",))
        names = ("question", "asked", "passages")
        check_template("policy.gap_prompt", self.gap_prompt, ("question", "passages"), names)
        for name, lowest in (("longest", 3), ("passage_chars", 1)):
            check_whole(f"policy.{name}", getattr(self, name), lowest)
        if self.tokens is not None:
            check_whole("policy.tokens", self.tokens, 1)

    @property
    def most_calls(self) -> int:
        """The most requests for one question."""
        return self.decompose + (self.rounds if self.gaps else 0)

    def trail(self, tools: Tools) -> Trail:
        """A trail within the budget in tokens."""
        return Trail(tools, self.tokens)

    def parts(self, query: Query, trail: Trail) -> Sequence[Texts]:
        """The questions that the model makes of one."""
        prompt = fill(self.parts_prompt, {"question": trail.tools.sought.question})
        return self._asked("decompose", query, self.parts_instruction, prompt, trail)[:PARTS]

    def missing(self, query: Query, best: Rankings, trail: Trail) -> Sequence[Texts]:
        """The questions that the model still has after the best passages."""
        passages = within(trail.tools.read(best), self.passage_chars)
        asked = "\n".join(step.given for step in trail.steps if step.act == "search")
        values = {"question": trail.tools.sought.question, "asked": asked, "passages": passages}
        return self._asked("gap", query, self.gap_instruction, fill(self.gap_prompt, values), trail)[:GAPS]

    def _asked(self, act: Act, query: Query, instruction: str, prompt: str, trail: Trail) -> list[Texts]:
        """The texts of a reply; none after a failure, which stops the loop."""
        messages = (Message("system", instruction), Message("user", prompt))
        asked = trail.ask(self.generator, Request(query, (), messages))
        given, failure, texts = trail.tools.sought.question, asked.failure, list[str]()
        if not failure:
            try:
                texts = search_texts(asked.text, "queries", self.longest)
                if any(f'"{text}"' in instruction for text in texts):
                    texts, failure = [], f"the reply repeats the example of the instruction: {asked.text.strip()[:80]!r}"
            except ValueError as error:
                failure = f"the reply {error}: {asked.text.strip()[:80]!r}"
        trail.note(act, given, " | ".join(texts) or ("" if failure else "nothing is missing"), failure, asked)
        trail.stopped = trail.stopped or failure
        return [(text,) for text in texts]
