"""Whether a judge passes a reply: its support by the contexts, and its relevance to the question."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rag.components.checks.failure_action import ReplyCheck
from rag.core.assessments import OVERALL, PASSES, Case
from rag.core.checks import check_number
from rag.core.roles import Judge
from rag.core.types import Finding, Reply, Request


@dataclass(frozen=True, kw_only=True)
class OverallPassCheck(ReplyCheck):
    """One finding for each reply that does not decline: whether it reaches `faithfulness` and `relevance`, by a judge.

    `error` says how often the judge errs, as measured by its card, and is part of every finding. A reply that cannot be judged
    does not pass. One that passes is never refused or generated again.
    """

    name: ClassVar[str] = OVERALL
    judge: Judge
    faithfulness: float = 0.5
    relevance: float = 0.5
    error: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("faithfulness", "relevance"):
            check_number(f"check.overall_pass.{name}", getattr(self, name), 0, 1)

    def inspect(self, requests: Sequence[Request], replies: Sequence[Reply]) -> list[list[Finding]]:
        """The finding on each reply; none on one that declines to answer."""
        rows = [*zip(requests, replies, strict=True)]
        cases = [Case(reply.text, tuple(chunk.text for chunk in each.contexts), each.query.text) for each, reply in rows]
        verdicts = self.judge.judge(cases)
        relevance = self.judge.relate([(case.question, case.text) for case in cases])
        scores = [(verdict.faithfulness, relevant) for verdict, relevant in zip(verdicts, relevance, strict=True)]
        return [[] if verdict.abstained else [self._said(*both)] for verdict, both in zip(verdicts, scores, strict=True)]

    def failures(self, request: Request, reply: str) -> list[Finding]:
        """The finding on one reply."""
        return self.inspect([request], [Reply(reply)])[0]

    def _said(self, faithfulness: float, relevance: float) -> Finding:
        passes = faithfulness >= self.faithfulness and relevance >= self.relevance
        what = f"{PASSES if passes else 'does not pass'}: faithfulness {faithfulness:.2f}, relevance {relevance:.2f}"
        said = f"{what}; {self.error}" if self.error else what
        return Finding(OVERALL, said) if passes else self.finding(said, 0, 0)
