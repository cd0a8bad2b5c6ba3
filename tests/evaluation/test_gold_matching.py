"""Span gold against a reference that counts characters in sets, and laws of all metrics."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag.components.metrics.char_precision import CharPrecision
from rag.components.metrics.char_recall import CharRecall
from rag.components.metrics.hit import Hit
from rag.components.metrics.iou import IntersectionOverUnion
from rag.components.metrics.judged import JudgedShare
from rag.components.metrics.map import AveragePrecision
from rag.components.metrics.mrr import ReciprocalRank
from rag.components.metrics.ndcg import DiscountedGain
from rag.components.metrics.precision import Precision
from rag.components.metrics.recall import Recall
from rag.core.corpus import Corpus
from rag.core.errors import ConfigError, DataError
from rag.core.rankings import Rankings
from rag.core.roles import RankingMetric
from rag.core.types import Anchor, Document, Evidence, Example, Query, Span
from rag.evaluation import gold_matching
from rag.evaluation.gold_matching import Judged, judge
from rag.evaluation.gold_table import Gold, gold_table

METRICS: tuple[RankingMetric, ...] = (
    *(Recall(), Precision(), Hit(), AveragePrecision(), ReciprocalRank(), DiscountedGain(), JudgedShare(), CharRecall()),
    *(CharPrecision(), IntersectionOverUnion()),
)
GROWING: tuple[RankingMetric, ...] = (Recall(), Hit(), AveragePrecision(), ReciprocalRank(), CharRecall())
Char = tuple[str, int]


@dataclass(frozen=True)
class Case:
    """A small world: chunks anywhere, nested or overlapping, and rankings that are prefixes of any order."""

    corpus: Corpus
    examples: list[Example]
    orders: list[list[int]]
    coverage: float = 0.5

    def judged(self) -> Judged:
        return judge(rankings_of(self.orders), gold_table(self.corpus, self.examples, self.coverage))


def rankings_of(orders: Sequence[Sequence[int]]) -> Rankings:
    return Rankings.pack([[(position, float(-rank)) for rank, position in enumerate(order)] for order in orders])


def text(size: int) -> str:
    return "x" * size


# --- a reference with sets -------------------------------------------------------------------------------------------


def characters(span: Span) -> set[Char]:
    return {(span.doc_id, place) for place in range(span.start, span.end)}


@dataclass
class Reference:
    """One question judged literally by the definitions, slowly."""

    case: Case
    number: int

    def __post_init__(self) -> None:
        self.example, self.order = self.case.examples[self.number], self.case.orders[self.number]
        self.spans = [self.case.corpus.chunk(position).span for position in self.order]
        self.coverage = Fraction(str(self.case.coverage))
        self.groups = [group for group in self.example.evidence if group.grade > 0]
        golds = [gold for group in self.groups for gold in group.alternatives]
        self.whole = {gold for gold in golds if isinstance(gold, str)}
        self.gold_spans = [gold for gold in golds if isinstance(gold, Span)]
        self.by_document = bool(self.whole) and not self.gold_spans
        self.kept = self._kept()

    def _kept(self) -> list[int]:
        """Which hits are items: the first of each document, or all."""
        names = [span.doc_id for span in self.spans]
        return [rank for rank, name in enumerate(names) if not self.by_document or name not in names[:rank]]

    def seen(self, rank: int) -> set[Char]:
        return {char for span in self.spans[:rank] for char in characters(span)}

    def first(self, gold: Span | str) -> float:
        """The number of hits that satisfy a piece of gold."""
        for rank in range(1, len(self.spans) + 1):
            if isinstance(gold, str):
                if self.spans[rank - 1].doc_id == gold:
                    return rank
            elif len(characters(gold) & self.seen(rank)) >= self.coverage * (gold.end - gold.start):
                return rank
        return float("inf")

    def group_ranks(self) -> list[int]:
        firsts = [min(self.first(gold) for gold in group.alternatives) for group in self.groups]
        return [0 if first > len(self.spans) else sum(rank < first for rank in self.kept) for first in firsts]

    def relevant(self) -> list[bool]:
        return [self._relevant(self.spans[rank]) for rank in self.kept]

    def _relevant(self, chunk: Span) -> bool:
        return chunk.doc_id in self.whole or self._among(chunk, self.gold_spans)

    def _among(self, chunk: Span, spans: Sequence[Span]) -> bool:
        return any(
            shared > 0 and shared >= self.coverage * min(len(characters(chunk)), len(characters(gold)))
            for gold in spans
            for shared in [len(characters(chunk) & characters(gold))]
        )

    def judged(self) -> list[bool]:
        known = {*self.example.judged, *(gold for group in self.example.evidence for gold in group.alternatives)}
        chunks, spans = [self.spans[rank] for rank in self.kept], [gold for gold in known if isinstance(gold, Span)]
        return ["*" in known or chunk.doc_id in known or self._among(chunk, spans) for chunk in chunks]

    def gold(self) -> set[Char]:
        if self.whole:
            return set()
        everything = self.seen(len(self.spans))
        chosen: set[Char] = set()
        for group in self.groups:
            golds = [characters(gold) for gold in group.alternatives if isinstance(gold, Span)]
            chosen |= max(golds, key=lambda chars: Fraction(len(chars & everything), len(chars)))
        return chosen

    def counts(self) -> dict[str, list[int]]:
        gold = self.gold()
        read = list(accumulate(span.end - span.start for span in self.spans))
        return {
            "gold_seen": [len(gold & self.seen(rank + 1)) for rank in self.kept],
            "chars_seen": [len(self.seen(rank + 1)) for rank in self.kept],
            "chars_read": [read[rank] for rank in self.kept],
        }


def assert_as_reference(case: Case) -> None:
    judged = case.judged()
    assert len(judged) == len(case.examples)
    for number, example in enumerate(case.examples):
        wanted = Reference(case, number)
        length = len(wanted.kept)
        ranks, grades = wanted.group_ranks(), [float(group.grade) for group in wanted.groups]
        assert judged.group_ranks[number].tolist() == ranks + [-1] * (judged.group_ranks.shape[1] - len(ranks)), example
        assert judged.grades[number].tolist() == grades + [0.0] * (judged.grades.shape[1] - len(ranks))
        assert judged.items[number] == length
        assert judged.answerable[number] == bool(wanted.groups)
        assert judged.gold_chars[number] == len(wanted.gold())
        for name, flags in {"relevant": wanted.relevant(), "judged": wanted.judged()}.items():
            row = getattr(judged, name)[number]
            assert row[:length].tolist() == flags
            assert not row[length:].any()
        for name, counts in wanted.counts().items():
            row = getattr(judged, name)[number]
            assert row[:length].tolist() == counts, name
            assert (row[length:] == (counts or [0])[-1]).all(), name


# --- generated worlds ------------------------------------------------------------------------------------------------


@st.composite
def spans_in(draw: st.DrawFn, doc_id: str, size: int) -> Span:
    start = draw(st.integers(0, size - 1))
    return Span(doc_id, start, draw(st.integers(start + 1, size)))


@st.composite
def cases(draw: st.DrawFn, whole: bool = True) -> Case:
    sizes = draw(st.dictionaries(st.sampled_from("abc"), st.integers(1, 24), min_size=1))
    anywhere = st.sampled_from(sorted(sizes)).flatmap(lambda name: spans_in(name, sizes[name]))
    corpus = Corpus.of([Document(name, text(size)) for name, size in sizes.items()], draw(st.lists(anywhere, max_size=8)))
    golds: st.SearchStrategy[Span | str] = st.one_of(anywhere, spans_in("missing", 9))
    if whole:
        golds = st.one_of(anywhere, spans_in("missing", 9), st.sampled_from([*sorted(sizes), "absent"]))
    groups = st.builds(Evidence, st.lists(golds, min_size=1, max_size=3).map(tuple), st.integers(0, 3))
    count = draw(st.integers(1, 3))
    examples = [
        Example(
            Query(f"q{number}", "?"),
            tuple(draw(st.lists(groups, max_size=4))),
            judged=draw(st.frozensets(st.sampled_from([*sorted(sizes), "nowhere", "*", Span(min(sizes), 0, 1)]))),
        )
        for number in range(count)
    ]
    orders = [draw(st.permutations(range(len(corpus))))[: draw(st.integers(0, 8))] for _ in range(count)]
    return Case(corpus, examples, orders, draw(st.sampled_from([0.1, 0.3, 0.5, 0.55, 0.7, 1.0])))


@given(cases(), st.booleans())
@settings(max_examples=120, deadline=None)
def test_judging_agrees_with_the_reference(case: Case, sparse: bool) -> None:
    with mock.patch.object(gold_matching, "DENSE", 0 if sparse else gold_matching.DENSE):
        assert_as_reference(case)


@given(cases())
@settings(max_examples=40, deadline=None)
def test_scores_stay_between_0_and_1_and_some_never_fall(case: Case) -> None:
    judged = case.judged()
    for metric in METRICS:
        curve = np.array([metric.score(judged, np.full(len(judged), cut)) for cut in range(12)])
        values = curve[~np.isnan(curve)]
        assert ((values >= 0) & (values <= 1)).all(), metric
        if metric in GROWING:
            assert not (np.diff(curve, axis=0) < 0).any(), metric


# --- values that can be checked by hand ------------------------------------------------------------------------------

HUNDRED = Corpus.of(
    [Document("d", text(100)), Document("e", text(100))], [Span(d, s, s + 20) for d in "de" for s in range(0, 100, 20)]
)


def world(*groups: Evidence, order: Sequence[int], coverage: float = 0.5, corpus: Corpus = HUNDRED) -> Judged:
    return Case(corpus, [Example(Query("q", "?"), groups)], [list(order)], coverage).judged()


def spans(*places: tuple[int, int], grade: int = 1) -> Evidence:
    return Evidence(tuple(Span("d", start, end) for start, end in places), grade)


def value(metric: RankingMetric, judged: Judged, cut: int) -> float:
    return float(metric.score(judged, np.array([cut]))[0])


def test_a_share_is_of_whole_characters_and_of_the_shorter_of_span_and_chunk() -> None:
    """0.55 * 100 is 55.00000000000001 in binary, and 55 characters are enough."""
    halves = Corpus.of([Document("d", text(100))], [Span("d", 0, 54), Span("d", 0, 55)])
    found = [world(spans((0, 100)), order=[place], coverage=0.55, corpus=halves) for place in (0, 1)]
    assert [judged.group_ranks.tolist() for judged in found] == [[[0]], [[1]]]
    assert world(spans((10, 70)), order=[0]).relevant.tolist() == [[True]], "ten of 20 characters, and of 60"


def test_one_chunk_for_two_groups_scores_at_most_1() -> None:
    judged = world(spans((0, 5)), spans((10, 15)), order=[0, 1])
    assert judged.group_ranks.tolist() == [[1, 1]]
    for metric in (Recall(), AveragePrecision(), DiscountedGain(), Hit(), ReciprocalRank()):
        assert [value(metric, judged, cut) for cut in (1, 2, 5)] == [1, 1, 1]
    late = world(spans((0, 5)), spans((10, 15)), order=[1, 2, 0])
    assert value(AveragePrecision(), late, 3) == pytest.approx((1 / 3 + 2 / 3) / 2)
    assert value(DiscountedGain(), late, 3) == pytest.approx((2 / np.log2(4)) / (1 + 1 / np.log2(3)))


def test_grades_order_what_is_found_at_one_rank() -> None:
    judged = world(spans((0, 5), grade=1), spans((10, 15), grade=3), spans((40, 60), grade=2), order=[0])
    ideal = 3 + 2 / np.log2(3) + 1 / np.log2(4)
    assert value(DiscountedGain(), judged, 5) == pytest.approx((3 + 1 / np.log2(3)) / ideal)
    assert value(DiscountedGain(), judged, 1) == pytest.approx(1.0)


def test_an_empty_ranking_scores_0_and_a_question_without_gold_has_no_score() -> None:
    examples = [Example(Query("a", "?"), (spans((0, 9)),)), Example(Query("b", "?"))]
    judged = Case(HUNDRED, examples, [[], []]).judged()
    for metric in METRICS:
        assert metric.score(judged, np.array([5, 5])).tolist() == pytest.approx([0.0, np.nan], nan_ok=True)
    empty = judge(rankings_of([]), gold_table(HUNDRED, []))
    assert [metric.score(empty, np.zeros(0, np.int64)).tolist() for metric in METRICS] == [[]] * len(METRICS)
    bare = Case(Corpus.of([], []), examples, [[], []]).judged  # the span is in no document that is there
    assert bare().gold_chars.tolist() == [9, 0]


def test_tables_survive_the_round_trip_to_arrays() -> None:
    examples = [Example(Query("a", "?"), (spans((0, 9)), Evidence(("e",)))), Example(Query("b", "?"))]
    gold = gold_table(HUNDRED, examples)
    judged = judge(rankings_of([[0, 7], [3]]), Gold.from_arrays(gold.to_arrays()))
    again = Judged.from_arrays(judged.to_arrays())
    for name, array in judge(rankings_of([[0, 7], [3]]), gold).to_arrays().items():
        np.testing.assert_array_equal(again.to_arrays()[name], array)
        assert array.dtype != object
    assert judged.group_ranks.dtype == np.int32


@pytest.mark.parametrize("coverage", [0.0, -0.5, 1.01, float("nan")])
def test_an_invalid_coverage_is_refused(coverage: float) -> None:
    with pytest.raises(ConfigError, match="coverage"):
        gold_table(HUNDRED, [], coverage)


INVALID = [(Span("d", 5, 5),), (Span("d", 7, 3),), (Span("d", 90, 101),), (Span("d", -1, 4),), (Span("gone", 4, 4),), ()]


@pytest.mark.parametrize("alternatives", INVALID)
def test_an_invalid_group_is_refused(alternatives: tuple[Span, ...]) -> None:
    with pytest.raises(DataError, match="q7"):
        gold_table(HUNDRED, [Example(Query("q7", "?"), (Evidence(alternatives),))])


def test_a_quote_in_pieces_counts_as_one_span_and_a_lost_one_is_never_found() -> None:
    """Ten characters in two pieces: one chunk has four of them, so half of them need a second chunk."""
    document = Document("d", "x" * 60)
    corpus = Corpus.of([document], [Span("d", start, start + 20) for start in (0, 20, 40)])
    pieces = Anchor("d", (Span("d", 16, 20), Span("d", 40, 46)), "pieced", "a")
    lost = Anchor("d", (), "parser", "b", "the quote is not in the text", 30)
    both = Evidence((lost, pieces)), Evidence((lost,), 2)
    examples = [Example(Query("one", "?"), (Evidence((pieces,)),)), Example(Query("two", "?"), both)]
    gold = gold_table(corpus, examples, 0.5)
    assert gold.span_chars.tolist() == [10, 30, 10, 30]
    judged = judge(Rankings.pack([[(0, 3.0), (1, 2.0), (2, 1.0)]] * 2), gold)
    assert judged.group_ranks.tolist() == [[3, -1], [3, 0]]
    assert judged.grades.tolist() == [[1.0, 0.0], [1.0, 2.0]]
    assert judged.gold_seen.tolist() == [[4, 4, 10], [4, 4, 10]]
    assert judged.gold_chars.tolist() == [10, 40]
    assert judged.relevant.tolist() == [[False, False, True]] * 2  # four of ten characters are less than half
