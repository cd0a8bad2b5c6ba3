"""An agent: a chat model that thinks, uses a tool, and reads what came back, within a number of calls."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from textwrap import shorten
from typing import ClassVar

from rag.components.policies.actions import Action, Finish, RecordsAction, SearchAction, action_of, shown, tables_for
from rag.components.policies.trail import SHOWN, Asked, Trail, within
from rag.core.checks import check_whole
from rag.core.errors import UserError
from rag.core.rankings import Rankings
from rag.core.records.display import described_table
from rag.core.records.queries import RecordQuery
from rag.core.roles import Generator
from rag.core.roles.looking import Looked, Tools
from rag.core.text.templates import check_template, fill
from rag.core.types import Message, Query, Request

SOME = 4
"""The values of a field that a model is shown."""
SILENCE = 2
"""After so many failed requests, or repeated calls, in a row the agent ends with what was found."""
AGAIN = "repeated"
"""The failure of a call that repeats an earlier one."""
REPEATED = 1000
"""The characters of its own reply that the model is shown again."""

EXAMPLE = re.compile(r'"query": "([^"]+)"')
"""A search in the instruction, which a small model repeats."""


@dataclass
class Turn:
    """The state of an agent for one question: the messages so far, what was done, and the passages that were shown."""

    trail: Trail
    messages: list[Message]
    done: set[str | RecordQuery]
    shown: set[int] = field(default_factory=set)


@dataclass(frozen=True, kw_only=True)
class Agent:
    """Searches for the question, then asks a chat model at most `calls` times what to do: search, query records, or finish.

    A reply is one JSON object: `{"thought": "…", "tool": "search", "query": "…"}`, `{"tool": "query_records", "query": {…}}` or
    `{"tool": "finish"}`. An unknown tool, a reply of another form, a query that does not fit the records, a repeated call, an
    empty result and a failed request are observations, and count as calls. The model sees passages and records only as the
    guards leave them, and nothing in them changes the tools or the limits of their arguments. The answer is composed
    afterwards, by the prompt of the pipeline, from the passages of all searches and the results of records.

    `instruction` is the system message; `records` is added to it, and `tables_format` with {tables} to the question, where
    there are records. `prompt` has {question} and {passages}; `observation` has {observed}; `problem` has {why}; `words` are
    the words for `nothing` and for what is `repeated`. `tokens` is the budget for one question, None for no limit;
    `tables` the most tables that the model is shown.
    """

    generator: Generator
    instruction: str
    records: str
    tables_format: str
    prompt: str
    observation: str
    problem: str
    words: Mapping[str, str]
    calls: int = 4
    tokens: int | None = None
    longest: int = 300
    passage_chars: int = 3000
    tables: int = 5
    costly: ClassVar[bool] = True
    reads: ClassVar[tuple[str, ...]] = ("passages", "records")
    grows: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_template("policy.prompt", self.prompt, ("question", "passages"), ("question", "passages"))
        for name, needed in (("tables_format", "tables"), ("observation", "observed"), ("problem", "why")):
            check_template(f"policy.{name}", getattr(self, name), (needed,), (needed,))
        for name, lowest in (("calls", 1), ("longest", 3), ("passage_chars", 1), ("tables", 0)):
            check_whole(f"policy.{name}", getattr(self, name), lowest, 20 if name == "calls" else None)
        if self.tokens is not None:
            check_whole("policy.tokens", self.tokens, 1)

    @property
    def most_calls(self) -> int:
        """The most requests for one question."""
        return self.calls

    def look(self, query: Query, tools: Tools) -> Looked:
        """The passages of all searches in one ranking against the question, and the results of records."""
        trail, idle = Trail(tools, self.tokens), 0
        found = trail.search(tools.sought.texts)
        turn = Turn(trail, [], {text.casefold() for text in (*tools.sought.texts, *EXAMPLE.findall(self.instruction))})
        turn.messages += self._opening(tools, self._passages(found, turn))
        for _ in range(self.calls):
            asked = trail.ask(self.generator, Request(query, (), tuple(turn.messages)))
            if asked.failure:
                trail.note("think", "", failure=asked.failure, asked=asked)
            elif not self._acted(asked, turn):
                break
            idle = idle + 1 if asked.failure or trail.steps[-1].failure == AGAIN else 0
            if trail.stopped or idle >= SILENCE:
                break
        else:
            trail.note("stop", "", f"the cap of {self.calls} calls")
        return trail.looked()

    def _opening(self, tools: Tools, passages: str) -> list[Message]:
        """The first messages, to which each call adds; first what all questions share, so that a server reads it once.

        Names of tables and fields come from documents, so they are framed as passages are, whose last note is for both.
        """
        texts = [described_table(table, SOME) for table in tables_for(tools.sought.question, tools.records, self.tables)]
        described = within(replace(tools.read(None, texts), after=""), self.passage_chars)
        instruction = "\n\n".join(filter(None, (self.instruction, self.records if described else "")))
        asking = fill(self.prompt, {"question": tools.sought.question, "passages": passages or self.words["nothing"]})
        tables = fill(self.tables_format, {"tables": described}) if described else ""
        return [Message("system", instruction), Message("user", "\n\n".join(filter(None, (tables, asking))))]

    def _acted(self, asked: Asked, turn: Turn) -> bool:
        """Do what a reply asks for and show the model what came of it; False for the end."""
        trail = turn.trail
        try:
            thought, action = action_of(asked.text, self.longest)
        except ValueError as error:
            trail.note("think", asked.text, failure=f"the reply {error}", asked=asked)
            seen = fill(self.problem, {"why": str(error)})
        else:
            trail.note("think", thought, action.tool, asked=asked)
            if isinstance(action, Finish):
                return False
            seen = self._observed(action, turn)
        turn.messages += [Message("assistant", asked.text.strip()[:REPEATED]), Message("user", seen)]
        return True

    def _observed(self, action: Action, turn: Turn) -> str:
        """The result of a call of a tool, or why there is none, as the model may read it."""
        call = action.query.casefold() if isinstance(action, SearchAction) else action.query
        if call in turn.done:
            turn.trail.note(action.tool, shown(action), failure=AGAIN)
            return fill(self.problem, {"why": self.words["repeated"]})
        turn.done.add(call)
        if isinstance(action, SearchAction):
            seen = self._passages(turn.trail.search((action.query,)), turn)
        else:
            seen = self._records(action, turn)
        return fill(self.observation, {"observed": seen or self.words["nothing"]})

    def _passages(self, found: Rankings, turn: Turn) -> str:
        """The first k passages that the model has not seen yet."""
        tools = turn.trail.tools
        row = [(position, score) for position, score in found.first(tools.k).row(0) if position not in turn.shown]
        turn.shown.update(position for position, _ in row)
        return within(tools.read(Rankings.pack([row])), self.passage_chars) if row else ""

    def _records(self, action: RecordsAction, turn: Turn) -> str:
        """The result of a query of records; a text that a guard takes out is not used in the answer either."""
        tools, failure = turn.trail.tools, ""
        try:
            text = shown(action, tools.query_records(action.query))
        except UserError as error:
            text, failure = shorten(f"{error.what}; {error.remedy}", SHOWN, placeholder=" …"), error.what
        framed = tools.read(None, [text])
        turn.trail.note(action.tool, shown(action), text if framed.contexts else "withheld by a guard", failure)
        if framed.contexts and not failure:
            turn.trail.results.append(text)
        return within(framed, self.passage_chars)
