"""Whether the claims of a reply cite contexts."""

from dataclasses import dataclass
from typing import ClassVar

from rag.components.checks.failure_action import SentenceCheck, shortened
from rag.core.types import Finding, Request


@dataclass(frozen=True)
class CitationsCheck(SentenceCheck):
    """Fails for each claim without a citation; with `every` = False only for a reply whose claims have none at all."""

    name: ClassVar[str] = "citations"
    every: bool = True

    def failures(self, request: Request, reply: str) -> list[Finding]:
        """One finding per claim without a citation, or one for the reply."""
        bare, claims = self.uncited(request, reply)
        if self.every:
            quoted = ((f"cites nothing: {shortened(reply[one.start : one.end])}", one.start, one.end) for one in bare)
            return [self.finding(*place) for place in quoted]
        return [self.finding("cites nothing", 0, len(reply))] if bare and len(bare) == claims else []
