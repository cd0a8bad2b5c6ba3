"""Sentences of answers held against what they cite, as in ALCE (Gao et al. 2023): sentence by sentence, by the union of it.

A citation counts unless it does not support its sentence alone and the others do without it.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from rag.core.assessments import Case, Cited, Spent, Verdict
from rag.core.records import Answer
from rag.core.roles import Judge
from rag.core.text.citations import cited_sentences, without_markers
from rag.core.text.refusals import claims


@runtime_checkable
class Spending(Protocol):
    """A judge that takes tokens or money, and says how much."""

    def judge_spending(self, cases: Sequence[Case]) -> list[tuple[Verdict, Spent]]:
        """As `judge`, and what each verdict took."""
        ...

    def relate_spending(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[float, Spent]]:
        """As `relate`, and what each value took."""
        ...


def judged(judge: Judge, cases: Sequence[Case]) -> list[tuple[Verdict, Spent]]:
    """The verdicts of any judge, and what each took."""
    return judge.judge_spending(cases) if isinstance(judge, Spending) else [(one, Spent()) for one in judge.judge(cases)]


def related(judge: Judge, pairs: Sequence[tuple[str, str]]) -> list[tuple[float, Spent]]:
    """The relevance that any judge sees, and what each took."""
    return judge.relate_spending(pairs) if isinstance(judge, Spending) else [(one, Spent()) for one in judge.relate(pairs)]


@runtime_checkable
class PassageJudge(Protocol):
    """A judge that measures the relevance of a context otherwise than that of an answer."""

    def passages_spending(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[float, Spent]]:
        """How far each (question, context) fits, and what each took."""
        ...


def found_relevant(judge: Judge, pairs: Sequence[tuple[str, str]]) -> list[tuple[float, Spent]]:
    """The relevance of contexts, and what each took."""
    return judge.passages_spending(pairs) if isinstance(judge, PassageJudge) else related(judge, pairs)


@dataclass
class _Sentence:
    """A sentence that claims something, while it is held against what it cites."""

    answer: Answer
    number: int
    start: int
    end: int
    cites: tuple[int, ...]
    claims: bool = True
    support: float = math.nan
    needed: list[bool] = field(default_factory=list)
    spent: Spent = field(default_factory=Spent)

    def case(self, cites: Sequence[int]) -> Case:
        """The sentence and some of what it cites."""
        contexts = tuple(self.answer.contexts[cite - 1].chunk.text for cite in cites)
        return Case(without_markers(self.answer.reply.text[self.start : self.end]), contexts, self.answer.query.text)

    def cited(self) -> Cited:
        """What came of it."""
        return Cited(self.start, self.end, self.cites, self.support, tuple(self.needed))


def held(judge: Judge, answers: Sequence[Answer]) -> list[tuple[tuple[Cited, ...], Spent]]:
    """The sentences of each answer that claim something, held against what they cite; none of one that abstains."""
    sentences = [one for number, answer in enumerate(answers) if not answer.abstained for one in _sentences(number, answer)]
    citing = [one for one in sentences if one.cites]
    for one, support in zip(citing, _supports(judge, [(one, one.cites) for one in citing]), strict=True):
        one.support, one.needed = support, [True] * len(one.cites) if support >= judge.threshold else []
    _weigh(judge, [one for one in citing if len(one.needed) > 1])
    rows: list[list[_Sentence]] = [[] for _ in answers]
    for one in sentences:
        rows[one.number].append(one)
    return [(tuple(one.cited() for one in row if one.claims), sum((one.spent for one in row), Spent())) for row in rows]


def _weigh(judge: Judge, several: Sequence[_Sentence]) -> None:
    """Which of several citations a supported sentence needs; where that cannot be judged, neither can the sentence."""
    places = [(one, place) for one in several for place in range(len(one.cites))]
    alone = _supports(judge, [(one, one.cites[place : place + 1]) for one, place in places])
    doubtful = [(one, place) for (one, place), support in zip(places, alone, strict=True) if not support >= judge.threshold]
    others = _supports(judge, [(one, one.cites[:place] + one.cites[place + 1 :]) for one, place in doubtful])
    for (one, place), support in zip(doubtful, others, strict=True):
        one.needed[place] = not support >= judge.threshold
    lost = [
        pair[0]
        for pair, support in (*zip(places, alone, strict=True), *zip(doubtful, others, strict=True))
        if support != support
    ]
    for one in lost:
        one.support, one.needed = math.nan, []


def _supports(judge: Judge, asked: Sequence[tuple[_Sentence, Sequence[int]]]) -> list[float]:
    """The support of each sentence by some contexts, NaN where one of its claims could not be judged."""
    found = []
    for (one, _), (verdict, spent) in zip(asked, judged(judge, [one.case(cites) for one, cites in asked]), strict=True):
        one.spent += spent
        one.claims = not verdict.abstained
        found.append(math.nan if verdict.failures else verdict.support)
    return found


def _sentences(number: int, answer: Answer) -> Iterator[_Sentence]:
    text = answer.reply.text
    claiming = set(claims(text)[0])
    for sentence in cited_sentences(text):
        if (sentence.start, sentence.end) in claiming:
            yield _Sentence(answer, number, sentence.start, sentence.end, sentence.cites(len(answer.contexts)))
