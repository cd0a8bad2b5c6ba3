"""Whether a judge passes a reply: its support by the contexts, and its relevance to the question."""

from dataclasses import dataclass
from typing import ClassVar

from rag.components.checks.failure_action import ReplyCheck
from rag.core.assessments import OVERALL, PASSES, Case
from rag.core.roles import Judge
from rag.core.types import Finding, Request


@dataclass(frozen=True, kw_only=True)
class OverallPassCheck(ReplyCheck):
    """Says of each reply with claims whether it reaches `faithfulness` and `relevance` by a judge, and its `error`."""

    name: ClassVar[str] = OVERALL
    judge: Judge
    faithfulness: float = 0.5
    relevance: float = 0.5
    error: str = ""

    def failures(self, request: Request, reply: str) -> list[Finding]:
        """The finding on a reply."""
        (verdict,) = self.judge.judge([Case(reply, tuple(chunk.text for chunk in request.contexts), request.query.text)])
        (relevance,) = self.judge.relate([(request.query.text, reply)])
        passes = verdict.faithfulness >= self.faithfulness and relevance >= self.relevance
        figures = f"faithfulness {verdict.faithfulness:.2f}, relevance {relevance:.2f}; {self.error}"
        found = Finding(OVERALL, f"{PASSES}: {figures}") if passes else self.finding(f"does not pass: {figures}", 0, len(reply))
        return [found] if verdict.claims else []
