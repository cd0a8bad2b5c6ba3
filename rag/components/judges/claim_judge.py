"""The base classes of judges: the parameters that all share, and those of judges that ask a chat model."""

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from rag.core.assessments import Case, Spent, Verdict
from rag.core.checks import check_number, check_whole
from rag.core.roles import Generator
from rag.core.text.refusals import refusals


@dataclass(frozen=True, kw_only=True)
class ClaimJudge:
    """A claim counts as supported from the support `threshold` on.

    `abstentions` are further regular expressions for sentences that decline to answer; such sentences are no claims.
    """

    threshold: float = 0.5
    abstentions: Sequence[str] = ()

    def __post_init__(self) -> None:
        check_number("judge.threshold", self.threshold, 0, 1)
        self.patterns  # noqa: B018 - checks the expressions

    @cached_property
    def patterns(self) -> tuple[re.Pattern[str], ...]:
        """The patterns of sentences that decline to answer."""
        return refusals(self.abstentions)


@dataclass(frozen=True, kw_only=True)
class ModelJudge(ClaimJudge, ABC):
    """A judge that asks a chat model; an invalid reply is answered with `again`, up to `attempts` replies.

    {problem} in `again` becomes the error. The model is any Generator, so that its retries, limits, prices and stored replies
    apply. A ServiceError of the generator ends the batch.
    """

    generator: Generator
    again: str
    attempts: int = 2
    costly: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole("judge.attempts", self.attempts, 1)

    def judge(self, cases: Sequence[Case]) -> list[Verdict]:
        """One verdict per case."""
        return [verdict for verdict, _ in self.judge_spending(cases)]

    def relate(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """The relevance of each (question, text) in [0, 1]; NaN without a valid reply."""
        return [value for value, _ in self.relate_spending(pairs)]

    @abstractmethod
    def judge_spending(self, cases: Sequence[Case]) -> list[tuple[Verdict, Spent]]:
        """The verdicts, with the tokens and cost of each."""

    @abstractmethod
    def relate_spending(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[float, Spent]]:
        """The relevances, with the tokens and cost of each."""
