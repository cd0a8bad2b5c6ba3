"""Which citations support the sentences of answers, as in ALCE (Gao et al. 2023).

A sentence is compared with the union of its citations. A citation counts unless it does not support its sentence alone and
the other citations support the sentence without it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from rag.core.assessments import Case, Cited, Spent, Verdict
from rag.core.roles import Judge
from rag.core.text.citations import without_markers
from rag.core.text.refusals import claiming_sentences
from rag.core.types import Answer


@runtime_checkable
class Spending(Protocol):
    """A judge that costs tokens or money, and reports them."""

    def judge_spending(self, cases: Sequence[Case]) -> list[tuple[Verdict, Spent]]:
        """As `judge`, with the cost of each verdict."""

    def relate_spending(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[float, Spent]]:
        """As `relate`, with the cost of each value."""


@runtime_checkable
class PassageJudge(Protocol):
    """A judge that measures the relevance of a context differently from that of an answer."""

    def passages_spending(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[float, Spent]]:
        """The relevance of each (question, context) pair, with its cost."""


def judged(judge: Judge, cases: Sequence[Case]) -> list[tuple[Verdict, Spent]]:
    """The verdicts of any judge, with the cost of each."""
    return judge.judge_spending(cases) if isinstance(judge, Spending) else [(each, Spent()) for each in judge.judge(cases)]


def related(judge: Judge, pairs: Sequence[tuple[str, str]]) -> list[tuple[float, Spent]]:
    """The relevance of (question, text) pairs by any judge, with the cost of each."""
    return judge.relate_spending(pairs) if isinstance(judge, Spending) else [(each, Spent()) for each in judge.relate(pairs)]


def found_relevant(judge: Judge, pairs: Sequence[tuple[str, str]]) -> list[tuple[float, Spent]]:
    """The relevance of (question, context) pairs by any judge, with the cost of each."""
    return judge.passages_spending(pairs) if isinstance(judge, PassageJudge) else related(judge, pairs)


@dataclass
class _Sentence:
    """A sentence that makes a claim, while it is compared with its citations."""

    answer: Answer
    start: int
    end: int
    cites: tuple[int, ...]
    claims: bool = True
    support: float = math.nan
    needed: list[bool] = field(default_factory=list)
    spent: Spent = field(default_factory=Spent)

    def case(self, cites: Sequence[int]) -> Case:
        """The sentence with some of its citations, for a judge."""
        contexts = tuple(self.answer.contexts[cite - 1].chunk.text for cite in cites)
        return Case(without_markers(self.answer.reply.text[self.start : self.end]), contexts, self.answer.query.text)

    def cited(self) -> Cited:
        """The result for the sentence."""
        return Cited(self.start, self.end, self.cites, self.support, tuple(self.needed))


def attributed_sentences(judge: Judge, answers: Sequence[Answer]) -> list[tuple[tuple[Cited, ...], Spent]]:
    """For each answer its sentences that make claims, compared with their citations; none if the answer abstains."""
    rows = [[] if answer.abstained else _sentences(answer) for answer in answers]
    citing = [sentence for row in rows for sentence in row if sentence.cites]
    supports = _supports(judge, [(sentence, sentence.cites) for sentence in citing])
    for sentence, support in zip(citing, supports, strict=True):
        sentence.support = support
        sentence.needed = [True] * len(sentence.cites) if support >= judge.threshold else []
    _weigh(judge, [sentence for sentence in citing if len(sentence.needed) > 1])
    return [
        (tuple(sentence.cited() for sentence in row if sentence.claims), sum((sentence.spent for sentence in row), Spent()))
        for row in rows
    ]


def _weigh(judge: Judge, several: Sequence[_Sentence]) -> None:
    """Decide which of several citations a supported sentence needs; if one cannot be judged, neither can the sentence."""
    places = [(sentence, place) for sentence in several for place in range(len(sentence.cites))]
    alone = _supports(judge, [(sentence, sentence.cites[place : place + 1]) for sentence, place in places])
    doubtful = [pair for pair, support in zip(places, alone, strict=True) if not support >= judge.threshold]
    others = _supports(judge, [(sentence, sentence.cites[:at] + sentence.cites[at + 1 :]) for sentence, at in doubtful])
    for (sentence, place), support in zip(doubtful, others, strict=True):
        sentence.needed[place] = not support >= judge.threshold
    for (sentence, _), support in zip([*places, *doubtful], [*alone, *others], strict=True):
        if math.isnan(support):
            sentence.support, sentence.needed = math.nan, []


def _supports(judge: Judge, asked: Sequence[tuple[_Sentence, Sequence[int]]]) -> list[float]:
    """The support of each sentence by some of its citations, NaN if one of its claims could not be judged."""
    supports = []
    verdicts = judged(judge, [sentence.case(cites) for sentence, cites in asked])
    for (sentence, _), (verdict, spent) in zip(asked, verdicts, strict=True):
        sentence.spent += spent
        sentence.claims = not verdict.abstained
        supports.append(math.nan if verdict.failures else verdict.support)
    return supports


def _sentences(answer: Answer) -> list[_Sentence]:
    found = claiming_sentences(answer.reply.text)
    return [_Sentence(answer, one.start, one.end, one.cites(len(answer.contexts))) for one in found]
