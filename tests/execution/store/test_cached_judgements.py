"""What was judged once is not judged again."""

import math
from collections.abc import Sequence

from rag.core.assessments import Case, Claim, QuotedPassage, Spent, Verdict
from rag.execution.store.cached_judgements import StoredJudge
from rag.execution.store.store import Store


class Counting:
    """Counts what it is asked; what begins with `?` fails the first time."""

    threshold = 0.25

    def __init__(self) -> None:
        self.cases: list[Case] = []
        self.pairs: list[tuple[str, str]] = []

    def judge_spending(self, cases: Sequence[Case]) -> list[tuple[Verdict, Spent]]:
        before = {case.text for case in self.cases}
        self.cases += cases
        return [(self._verdict(case, case.text in before), Spent(7, math.nan)) for case in cases]

    def relate_spending(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[float, Spent]]:
        before = set(self.pairs)
        self.pairs += pairs
        return [(math.nan if pair[1].startswith("?") and pair not in before else 0.5, Spent(1, 0.1)) for pair in pairs]

    def judge(self, cases: Sequence[Case]) -> list[Verdict]:
        return [verdict for verdict, _ in self.judge_spending(cases)]

    def relate(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        return [value for value, _ in self.relate_spending(pairs)]

    def _verdict(self, case: Case, again: bool) -> Verdict:
        if case.text.startswith("?") and not again:
            return Verdict((Claim(0, 1, math.nan, failure="lost"),))
        return Verdict((Claim(0, 1, 0.75, (QuotedPassage(1, 0, 2),), ("7",)),), abstained=False)


class Reading(Counting):
    """Reads contexts otherwise than answers."""

    def passages_spending(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[float, Spent]]:
        return [(0.125, Spent(3, 0.0)) for _ in pairs]


def test_each_case_is_judged_once_also_by_another_process(store: Store) -> None:
    judge = Counting()
    cases = [Case("a", ("x",)), Case("b", ("x",)), Case("a", ("x",)), Case("a", ("y",)), Case("a", ("x",), "q")]
    first = StoredJudge(judge, store, "one").judge_spending(cases)
    assert len(judge.cases) == 4
    again = StoredJudge(judge, store, "one")
    assert repr(again.judge_spending(cases)) == repr(first)
    assert again.judge(cases) == [verdict for verdict, _ in first]
    assert len(judge.cases) == 4
    assert again.threshold == 0.25
    StoredJudge(judge, store, "two").judge(cases[:1])
    assert len(judge.cases) == 5


def test_pairs_and_contexts_are_distinguished(store: Store) -> None:
    judge = Reading()
    kept = StoredJudge(judge, store, "one")
    assert kept.relate([("q", "t"), ("q", "t")]) == [0.5, 0.5]
    assert kept.passages_spending([("q", "t")]) == [(0.125, Spent(3, 0.0))]
    assert kept.relate_spending([("q", "t")]) == [(0.5, Spent(1, 0.1))]
    assert judge.pairs == [("q", "t")]


def test_a_judge_that_knows_no_difference_relates_contexts_as_answers(store: Store) -> None:
    judge = Counting()
    kept = StoredJudge(judge, store, "one")
    assert kept.passages_spending([("q", "t")]) == kept.relate_spending([("q", "t")])
    assert len(judge.pairs) == 1


def test_what_failed_is_asked_again(store: Store) -> None:
    judge = Counting()
    (lost,) = StoredJudge(judge, store, "one").judge([Case("?a", ())])
    assert lost.failures == 1
    (found,) = StoredJudge(judge, store, "one").judge([Case("?a", ())])
    assert found.failures == 0
    kept = StoredJudge(judge, store, "one")
    assert [math.isnan(kept.relate([("q", "?t")])[0]) for _ in range(2)] == [True, False]
