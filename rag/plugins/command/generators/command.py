"""Answers of a program of the command line, which no config and no document chooses."""

import json
import math
import os
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from rag.components.generators.prices import LONGEST_REPLY
from rag.components.generators.received import Received
from rag.core.checks import check_number, check_whole
from rag.core.errors import ConfigError, RefusalError, ServiceError
from rag.core.look_checks import one_line
from rag.core.models.chat import CHARACTERS
from rag.core.redaction import without_own_secrets
from rag.core.text.citations import cited
from rag.core.types import Reply, Request
from rag.plugins.command.run_program import ProgramError, output_of

PROGRAM, FURTHER = "RAG_COMMAND", "RAG_COMMAND_ENV"
"""Variables: the program and its arguments, a JSON list; names of variables that the program gets besides GIVEN."""
GIVEN = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ", "TMPDIR")
EXAMPLE = """export RAG_COMMAND='["claude", "-p"]'"""


@dataclass(frozen=True)
class CommandGenerator:
    """Runs the program of RAG_COMMAND for each request: messages on standard input, the answer on standard output.

    `model` names what answers, with its version. A call takes at most `timeout` seconds and writes at most `most_bytes`. Tokens
    are not known: they count as 0, and the cost is NaN. A program that fails is a ServiceError.
    """

    costly: ClassVar[bool] = True
    runtime: ClassVar[tuple[str, ...]] = ("timeout",)

    model: str
    most_bytes: int = 200_000
    timeout: float = 120.0

    def __post_init__(self) -> None:
        check_whole("generator.most_bytes", self.most_bytes, 1)
        check_number("generator.runtime.timeout", self.timeout, 0.001, 86400)

    def fingerprint(self) -> str:
        """`model@arguments`, `model@` without RAG_COMMAND; ConfigError for one that is wrong."""
        return f"{self.model}@{json.dumps(arguments()) if os.environ.get(PROGRAM) else ''}"

    def spending(self, requests: int, prompt: int, reply: int | None = None) -> tuple[int, float]:
        """Tokens of requests, and NaN: no budget in dollars accepts a program."""
        return requests * (prompt + (LONGEST_REPLY if reply is None else reply)), math.nan

    def expected(self, request: Request) -> tuple[int, float]:
        """As `spending`, by the bytes of a request."""
        return self.spending(1, len(prompt_of(request)) // CHARACTERS)

    def sent(self, request: Request) -> Mapping[str, Any]:
        """The model, the arguments and the prompt."""
        return {"model": self.model, "arguments": arguments(), "prompt": prompt_of(request).decode("utf-8")}

    def generate(self, requests: Sequence[Request]) -> list[Reply]:
        """One reply per request, one program after the other."""
        return list(self.attempts(requests))

    def attempts(self, requests: Sequence[Request]) -> Iterator[Reply]:
        """As `generate`, one by one as they come."""
        return map(self._reply, requests)

    def stream(self, request: Request) -> Generator[str, None, Reply]:
        """The reply in one piece."""
        reply = self._reply(request)
        if reply.failure:
            raise RefusalError.of(reply.failure)
        yield reply.text
        return reply

    def _reply(self, request: Request) -> Reply:
        program = arguments()
        names = {*GIVEN, *os.environ.get(FURTHER, "").replace(",", " ").split()} & set(os.environ)
        environment = {name: os.environ[name] for name in sorted(names)}
        try:
            output = output_of(program, prompt_of(request), environment, self.timeout, self.most_bytes)
        except (ProgramError, OSError) as error:
            what = one_line(without_own_secrets(f"{program[0]} {error}"), 500)
            remedy = "run it by hand, or raise generator.runtime.timeout or generator.most_bytes"
            raise ServiceError(PROGRAM, what, remedy) from error
        received = Received(output.decode("utf-8", "replace").strip())
        received.end()
        if fault := received.fault(self.most_bytes):
            return Reply("", cost=math.nan, failure=str(ServiceError(program[0], *fault)))
        citations = cited(received.text, len(request.contexts))
        return Reply(received.text, citations, cost=math.nan, thoughts=received.thoughts)


def arguments() -> list[str]:
    """The program of RAG_COMMAND with its arguments; ConfigError unless it is a JSON list of texts without secrets."""
    try:
        value = json.loads(os.environ.get(PROGRAM, ""))
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, list) or not value or not all(isinstance(each, str) and "\0" not in each for each in value):
        raise ConfigError(PROGRAM, "is not set to a JSON list of texts", EXAMPLE)
    if not value[0] or ("/" in value[0] and not os.path.isabs(value[0])):
        raise ConfigError(PROGRAM, f"begins with {value[0]!r}", "begin with a name on PATH or with an absolute path")
    if without_own_secrets(json.dumps(value)) != json.dumps(value):
        raise ConfigError(PROGRAM, "holds a secret, which other users see", f"keep it in a variable that {FURTHER} names")
    return value


def prompt_of(request: Request) -> bytes:
    """The messages in UTF-8 with blank lines between them; in a conversation each has its role."""
    is_talk = any(message.role == "assistant" for message in request.messages)
    parts = [f"{message.role}: {message.content}" if is_talk else message.content for message in request.messages]
    return "\n\n".join(parts).encode("utf-8", "replace")
