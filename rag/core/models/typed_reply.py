"""Typed replies of a chat model: one rule that reads the JSON object of a reply, and one loop that asks again.

The rule: a reply holds one JSON object as RFC 8259 has it. Text around it, a code fence, and the thoughts of a model before it
(`<think>…</think>`) are ignored: they change no value, and small models write them. What would need a guess is refused, because
a further request costs little and a value that was read wrongly is never seen:

- two objects, or other braces outside of the object: which of them is the reply? The first may be a draft, the last an example
- a comma before a closing bracket: a repair would change texts between quotes too
- NaN and Infinity, which are no JSON, and are in order with no number
- a repeated key, of which one value would be lost
- half of a surrogate pair, which no file holds
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Generic, TypeVar

from rag.core.adapters import records_from, without_repeats
from rag.core.assessments import Spent
from rag.core.models.chat import Given, ask, spent
from rag.core.models.thoughts import split_thoughts
from rag.core.roles import Generator
from rag.core.types import Message, Request

Form = TypeVar("Form")
LONGEST = 50_000
"""Characters of the longest reply that is read, without its thoughts."""


def json_object(reply: str) -> Mapping[str, Any]:
    """The only JSON object of a reply; ValueError that says what is wrong, in words that follow `the reply`."""
    text, _, _ = split_thoughts(reply)
    if len(text) > LONGEST:
        raise ValueError(f"has {len(text):,} characters, and {LONGEST:,} is the most")
    start = text.find("{")
    if start < 0:
        raise ValueError("holds no JSON object")
    try:
        found, end = _DECODER.raw_decode(text, start)
        json.dumps(found, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError("has an escape \\ud800 to \\udfff that is not part of a pair") from error
    except RecursionError as error:
        raise ValueError("is nested too deeply") from error
    except json.JSONDecodeError as error:
        raise ValueError(f"is not valid JSON: {error}") from error
    if "{" in text[end:]:
        raise ValueError("holds more than one JSON object")
    return dict(found)


def typed(reply: str | Mapping[str, Any], form: type[Form]) -> Form:
    """The JSON object of a reply, or one that was read, as a dataclass; ValueError for an unknown key and a wrong value."""
    found = json_object(reply) if isinstance(reply, str) else reply
    check_names(found, [each.name for each in fields(form)])  # type: ignore[arg-type]
    from pydantic import ValidationError

    try:
        return records_from(form, {**found})
    except ValidationError as error:
        first = error.errors()[0]
        raise ValueError(f"has a wrong {'.'.join(map(str, first['loc']))}: {first['msg']}") from error


def check_names(found: Mapping[str, Any], names: Sequence[str]) -> None:
    """ValueError for a key that is not in `names`."""
    if unknown := sorted(set(found) - set(names)):
        raise ValueError(f"has {', '.join(map(repr, unknown))}; there is: {', '.join(names)}")


@dataclass
class Typed(Generic[Form]):
    """A request for a typed reply, and what came of it: the value that `read` gave, or None with the reason in `wrong`.

    `read` raises ValueError for a text that is not valid, in words that follow `the reply`. `problem` is that of the last
    reply, `failure` why there was no reply at all, `text` the last reply, and `spent` what all replies took.
    """

    request: Request
    read: Callable[[str], Form]
    value: Form | None = None
    problem: str = ""
    failure: str = ""
    text: str = ""
    spent: Spent = field(default_factory=Spent)

    @property
    def wrong(self) -> str:
        """Why there is no value; empty if there is one."""
        return self.failure or (self.problem and f"the reply {self.problem}")

    @property
    def quoted(self) -> str:
        """`wrong` with the beginning of a reply that is not valid."""
        return self.failure or (self.problem and f"{self.wrong.splitlines()[0]}: {self.text.strip()[:80]!r}")

    def take(self, given: Given) -> bool:
        """Read a reply; False if it is not valid, so that it can be asked for again."""
        failure = given if isinstance(given, str) else given.failure
        self.spent += Spent(*spent(given))
        if failure or isinstance(given, str):
            self.failure = "" if self.problem else failure  # The problem of an earlier reply says more.
            return True
        self.text, self.problem = given.text, ""
        try:
            self.value = self.read(given.text)
        except ValueError as error:
            self.problem = str(error)
        return not self.problem


def ask_typed(
    generator: Generator,
    asked: Sequence[Typed[Form]],
    tries: int = 1,
    again: str = "{problem}",
    repeated: int | None = None,
    falls_back: bool = True,
) -> Sequence[Typed[Form]]:
    """Ask for the values, up to `tries` times for each; an invalid reply is answered with `again`, {problem} filled in.

    `repeated` is the most characters of a reply, and of a problem, in a further request. With 0 the request ends with `again`
    and does not show the reply: at temperature 0 a small model repeats a reply that it is shown. An error of the generator is a
    reason (`rag.core.models.chat.ask`), or raised if no caller `falls_back`.
    """
    waiting = list(asked)
    for attempt in range(tries if asked else 0):
        if attempt:
            for each in waiting:
                *before, last = each.request.messages
                said = again.replace("{problem}", each.problem[: repeated or None])
                shown = (last, Message("assistant", each.text[:repeated]), Message("user", said))
                once = (replace(last, content=f"{last.content}\n\n{said}"),)
                each.request = replace(each.request, messages=(*before, *(once if repeated == 0 else shown)))
        requests = [each.request for each in waiting]
        given: Sequence[Given] = ask(generator, requests) if falls_back or not requests else generator.generate(requests)
        waiting = [each for each, reply in zip(waiting, given, strict=True) if not each.take(reply)]
    return asked


def _refused(constant: str) -> Any:
    raise ValueError(f"holds {constant}")


_DECODER = json.JSONDecoder(parse_constant=_refused, object_pairs_hook=without_repeats)
