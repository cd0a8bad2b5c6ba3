"""Whether a reply says what it rests on."""

from collections.abc import Sequence
from dataclasses import dataclass

from rag.components.checks.failure_action import action_of, asserted, shortened
from rag.core.errors import ConfigError
from rag.core.records import Finding, Reply, Request


@dataclass(frozen=True)
class CitationsCheck:
    """Fails where a sentence that claims something cites no context, or, unless `every`, where none of them does.

    Sentences of fewer than `words` words claim nothing. `refusal` is the sentence that the prompt wants where there is no
    answer; a reply that declines cites nothing and does not fail.
    """

    every: bool = True
    words: int = 3
    on_failure: str = "flag"
    advice: str = ""
    refusal: str = ""

    def __post_init__(self) -> None:
        action_of("citations", self.on_failure, self.advice)
        if not isinstance(self.every, bool):
            raise ConfigError("check.citations.every", f"is {self.every!r}", "true or false")
        if self.words < 1:
            raise ConfigError("check.citations.words", f"is {self.words}", "1 or more")

    def inspect(self, requests: Sequence[Request], replies: Sequence[Reply]) -> list[list[Finding]]:
        """A finding per sentence without a citation; one per reply where one citation would do."""
        return [self._one(request, reply.text) for request, reply in zip(requests, replies, strict=True)]

    def _one(self, request: Request, reply: str) -> list[Finding]:
        sentences = asserted(reply, self.refusal, request.contexts, self.words)
        bare = [sentence for sentence in sentences if not sentence.cites(len(request.contexts))]
        if self.every:
            return [
                self._finding(f"cites nothing: {shortened(reply[one.start : one.end])}", one.start, one.end) for one in bare
            ]
        return [self._finding("cites nothing", 0, len(reply))] if bare and len(bare) == len(sentences) else []

    def _finding(self, what: str, start: int, end: int) -> Finding:
        action = action_of("citations", self.on_failure, self.advice)
        return Finding("citations", what, action, start=start, end=end, advice=self.advice)
