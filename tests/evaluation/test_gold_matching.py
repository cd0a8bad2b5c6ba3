"""Span gold against a reference that counts characters in sets, and the laws that no metric may break."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import accumulate
from unittest import mock

import numpy as np
import pytest
from hypothesis import assume, given, settings
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
from rag.core.records import Document, Evidence, Example, Query, Span
from rag.core.roles import RankingMetric
from rag.evaluation import gold_matching
from rag.evaluation.gold_matching import Judged, judge
from rag.evaluation.gold_table import Gold, gold_table

METRICS: tuple[RankingMetric, ...] = (
    Recall(),
    Precision(),
    Hit(),
    AveragePrecision(),
    ReciprocalRank(),
    DiscountedGain(),
    JudgedShare(),
    CharRecall(),
    CharPrecision(),
    IntersectionOverUnion(),
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
    """One question judged as the definitions say, without a thought for speed."""

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
        """The number of hits that it takes."""
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
        return chunk.doc_id in self.whole or any(
            shared > 0 and shared >= self.coverage * min(len(characters(chunk)), len(characters(gold)))
            for gold in self.gold_spans
            for shared in [len(characters(chunk) & characters(gold))]
        )

    def judged(self) -> list[bool]:
        golds = [gold for group in self.example.evidence for gold in group.alternatives]
        known = self.example.judged | {gold if isinstance(gold, str) else gold.doc_id for gold in golds}
        return [self.spans[rank].doc_id in known for rank in self.kept]

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


def assert_as_referred(case: Case) -> None:
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
            judged=draw(st.frozensets(st.sampled_from([*sorted(sizes), "nowhere"]))),
        )
        for number in range(count)
    ]
    orders = [draw(st.permutations(range(len(corpus))))[: draw(st.integers(0, 8))] for _ in range(count)]
    return Case(corpus, examples, orders, draw(st.sampled_from([0.1, 0.3, 0.5, 0.55, 0.7, 1.0])))


@given(cases(), st.booleans())
@settings(max_examples=250, deadline=None)
def test_judging_is_counting_characters_in_sets(case: Case, sparse: bool) -> None:
    with mock.patch.object(gold_matching, "DENSE", 0 if sparse else gold_matching.DENSE):
        assert_as_referred(case)


@given(cases())
@settings(max_examples=80, deadline=None)
def test_scores_stay_between_0_and_1_and_some_never_fall(case: Case) -> None:
    judged = case.judged()
    for metric in METRICS:
        curve = np.array([metric.score(judged, np.full(len(judged), cut)) for cut in range(12)])
        values = curve[~np.isnan(curve)]
        assert ((values >= 0) & (values <= 1)).all(), metric
        if metric in GROWING:
            assert not (np.diff(curve, axis=0) < 0).any(), metric


@given(cases())
@settings(max_examples=50, deadline=None)
def test_a_score_is_missing_exactly_where_there_is_no_gold(case: Case) -> None:
    judged = case.judged()
    in_characters = judged.gold_chars > 0
    for metric in METRICS:
        applies = in_characters if isinstance(metric, CharRecall | CharPrecision | IntersectionOverUnion) else judged.answerable
        assert (np.isnan(metric.score(judged, np.full(len(judged), 3))) == ~applies).all(), metric


@given(cases(whole=False), st.data())
@settings(max_examples=60, deadline=None)
def test_cutting_a_document_in_two_where_nothing_stands_changes_nothing(case: Case, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from([document.doc_id for document in case.corpus.documents]))
    size = next(len(document.text) for document in case.corpus.documents if document.doc_id == name)
    used = [case.corpus.chunk(position).span for position in range(len(case.corpus))]
    golds = [gold for e in case.examples for group in e.evidence for gold in group.alternatives if isinstance(gold, Span)]
    crossed = {place for span in used + golds if span.doc_id == name for place in range(span.start + 1, span.end)}
    free = sorted(set(range(size + 1)) - crossed)
    border = data.draw(st.sampled_from(free))

    def moved(span: Span) -> Span:
        if span.doc_id != name:
            return span
        behind = span.start >= border
        return Span(f"{name}{int(behind)}", span.start - border * behind, span.end - border * behind)

    documents = [document for document in case.corpus.documents if document.doc_id != name]
    documents += [Document(f"{name}0", text(border)), Document(f"{name}1", text(size - border))]
    examples = [replace(e, evidence=tuple(_with(group, moved) for group in e.evidence)) for e in case.examples]
    before = case.judged()
    after = replace(case, corpus=Corpus.of(documents, map(moved, used)), examples=examples).judged()
    for array, other in zip(_but_judged(before), _but_judged(after), strict=True):
        np.testing.assert_array_equal(array, other)


def _with(group: Evidence, moved: object) -> Evidence:
    assert callable(moved)
    return replace(group, alternatives=tuple(moved(gold) for gold in group.alternatives))


def _but_judged(judged: Judged) -> list[object]:
    return [array for name, array in judged.to_arrays().items() if name != "judged"]


@given(cases(whole=False), st.data())
@settings(max_examples=60, deadline=None)
def test_a_chunk_that_grows_by_other_characters_gains_nothing(case: Case, data: st.DataObject) -> None:
    spans = [case.corpus.chunk(position).span for position in range(len(case.corpus))]
    assume(spans)
    grown = data.draw(st.integers(0, len(spans) - 1))
    span = spans[grown]
    size = next(len(document.text) for document in case.corpus.documents if document.doc_id == span.doc_id)
    golds = {
        char for e in case.examples for g in e.evidence for a in g.alternatives if isinstance(a, Span) for char in characters(a)
    }
    end = span.end
    while end < size and (span.doc_id, end) not in golds:
        end += 1
    bigger = [*spans[:grown], Span(span.doc_id, span.start, end), *spans[grown + 1 :]]
    assume(end > span.end and len(set(bigger)) == len(spans))
    corpus = Corpus.of(case.corpus.documents, bigger)
    place = {corpus.chunk(position).span: position for position in range(len(corpus))}
    orders = [[place[bigger[position]] for position in order] for order in case.orders]
    before, after = case.judged(), replace(case, corpus=corpus, orders=orders).judged()
    for metric in (IntersectionOverUnion(), CharPrecision(), CharRecall(), Recall()):
        for cut in range(1, 9):
            cuts = np.full(len(before), cut)
            assert not (metric.score(after, cuts) > metric.score(before, cuts)).any(), metric


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


def test_a_span_is_covered_by_the_union_of_chunks() -> None:
    # [15, 45) is 5 + 20 + 5 characters of three chunks: 10 of 30 after two hits, all after three.
    assert world(spans((15, 45)), order=[0, 2, 1]).group_ranks.tolist() == [[3]]
    assert world(spans((15, 45)), order=[0, 2, 1], coverage=0.3).group_ranks.tolist() == [[2]]
    assert world(spans((15, 45)), order=[1, 0, 2]).group_ranks.tolist() == [[1]]
    assert world(spans((15, 45)), order=[1, 0, 2], coverage=1.0).group_ranks.tolist() == [[3]]
    assert world(spans((15, 45)), order=[0, 2, 3]).group_ranks.tolist() == [[0]]


def test_overlapping_chunks_count_a_character_once() -> None:
    corpus = Corpus.of([Document("d", text(100))], [Span("d", 0, 20), Span("d", 5, 25), Span("d", 10, 30)])
    judged = world(spans((8, 28)), order=[0, 1, 2, 1][:3], corpus=corpus)
    assert judged.chars_seen.tolist() == [[20, 25, 30]]
    assert judged.chars_read.tolist() == [[20, 40, 60]]
    assert judged.gold_seen.tolist() == [[12, 17, 20]]
    assert [value(IntersectionOverUnion(), judged, cut) for cut in (1, 2, 3)] == [12 / 28, 17 / 28, 20 / 30]


def test_coverage_is_exact_in_decimals() -> None:
    # 0.55 * 100 is 55.00000000000001 in binary, and 55 characters are enough.
    corpus = Corpus.of([Document("d", text(100))], [Span("d", 0, 55), Span("d", 0, 54)])
    assert world(spans((0, 100)), order=[1], coverage=0.55, corpus=corpus).group_ranks.tolist() == [[1]]
    assert world(spans((0, 100)), order=[0], coverage=0.55, corpus=corpus).group_ranks.tolist() == [[0]]


def test_alternatives_satisfy_one_by_one() -> None:
    judged = world(spans((80, 100), (20, 40)), spans((60, 80)), order=[1, 4])
    assert judged.group_ranks.tolist() == [[1, 0]]
    assert value(Recall(), judged, 2) == 0.5
    # Both alternatives are found whole: the first is the gold, 20 characters and not 40.
    assert judged.gold_chars.tolist() == [40]
    assert judged.gold_seen.tolist() == [[0, 20]]


def test_the_alternative_that_is_covered_best_is_the_gold() -> None:
    judged = world(spans((80, 100), (20, 30)), order=[1])
    assert judged.gold_chars.tolist() == [10]
    assert value(CharRecall(), judged, 1) == 1.0
    assert value(CharPrecision(), judged, 1) == 0.5


def test_gold_that_groups_share_counts_once() -> None:
    judged = world(spans((0, 15)), spans((10, 20)), order=[0])
    assert judged.gold_chars.tolist() == [20]
    assert value(IntersectionOverUnion(), judged, 1) == 1.0


def test_one_chunk_that_satisfies_two_groups_is_no_more_than_perfect() -> None:
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


def test_a_chunk_is_relevant_by_its_share_of_the_shorter() -> None:
    # Of [15, 45): 5 of chunk 0, all of chunk 1, 5 of chunk 2, none of chunk 3; and nothing in another document.
    judged = world(spans((15, 45)), order=[0, 1, 2, 3, 6])
    assert judged.relevant.tolist() == [[False, True, False, False, False]]
    assert world(spans((15, 45)), order=[0, 1, 2, 3, 6], coverage=0.25).relevant.tolist() == [[True, True, True, False, False]]
    assert value(Precision(), judged, 2) == 0.5
    assert value(Precision(), judged, 10) == 0.1
    assert judged.judged.tolist() == [[True, True, True, True, False]]


def test_whole_documents_beside_spans_are_satisfied_by_any_chunk() -> None:
    judged = world(Evidence(("e",)), spans((20, 40)), order=[3, 7, 8, 1])
    assert judged.group_ranks.tolist() == [[2, 4]]
    assert judged.relevant.tolist() == [[False, True, True, True]]
    assert judged.items.tolist() == [4]
    assert judged.gold_chars.tolist() == [0]
    assert np.isnan(value(CharRecall(), judged, 4))


def test_groups_without_a_grade_are_no_gold_but_judged() -> None:
    judged = world(spans((0, 20), grade=0), Evidence((Span("e", 0, 20),)), order=[0, 5])
    assert judged.group_ranks.tolist() == [[2]]
    assert judged.relevant.tolist() == [[False, True]]
    assert judged.judged.tolist() == [[True, True]]
    only = world(spans((0, 20), grade=0), order=[0])
    assert only.answerable.tolist() == [False]


def test_gold_outside_the_corpus_is_gold_that_nothing_finds() -> None:
    judged = world(Evidence((Span("gone", 5, 15),)), spans((0, 20)), order=[0])
    assert judged.group_ranks.tolist() == [[0, 1]]
    assert judged.gold_chars.tolist() == [30]
    assert value(Recall(), judged, 1) == 0.5


def test_nothing_retrieved_scores_0_and_nothing_asked_scores_nothing() -> None:
    examples = [Example(Query("a", "?"), (spans((0, 9)),)), Example(Query("b", "?"))]
    judged = Case(HUNDRED, examples, [[], []]).judged()
    for metric in METRICS:
        assert metric.score(judged, np.array([5, 5])).tolist() == pytest.approx([0.0, np.nan], nan_ok=True)
    empty = judge(rankings_of([]), gold_table(HUNDRED, []))
    assert [metric.score(empty, np.zeros(0, np.int64)).tolist() for metric in METRICS] == [[]] * len(METRICS)
    bare = Case(Corpus.of([], []), examples, [[], []]).judged  # the span is in no document that is there
    assert bare().gold_chars.tolist() == [9, 0]


def test_tables_come_back_from_their_arrays() -> None:
    examples = [Example(Query("a", "?"), (spans((0, 9)), Evidence(("e",)))), Example(Query("b", "?"))]
    gold = gold_table(HUNDRED, examples)
    judged = judge(rankings_of([[0, 7], [3]]), Gold.from_arrays(gold.to_arrays()))
    again = Judged.from_arrays(judged.to_arrays())
    for name, array in judge(rankings_of([[0, 7], [3]]), gold).to_arrays().items():
        np.testing.assert_array_equal(again.to_arrays()[name], array)
        assert array.dtype != object
    assert judged.group_ranks.dtype == np.int32


@pytest.mark.parametrize("coverage", [0.0, -0.5, 1.01, float("nan")])
def test_a_coverage_that_is_no_share_is_refused(coverage: float) -> None:
    with pytest.raises(ConfigError, match="coverage"):
        gold_table(HUNDRED, [], coverage)


@pytest.mark.parametrize("span", [Span("d", 5, 5), Span("d", 7, 3), Span("d", 90, 101), Span("d", -1, 4), Span("gone", 4, 4)])
def test_a_span_that_is_none_is_refused(span: Span) -> None:
    with pytest.raises(DataError, match="q7"):
        gold_table(HUNDRED, [Example(Query("q7", "?"), (Evidence((span,)),))])


def test_a_group_without_alternatives_is_refused() -> None:
    with pytest.raises(DataError, match="q7"):
        gold_table(HUNDRED, [Example(Query("q7", "?"), (Evidence(()),))])


def test_rankings_and_gold_must_be_of_the_same_questions() -> None:
    with pytest.raises(ValueError, match="2 rankings for 1 questions"):
        judge(rankings_of([[], []]), gold_table(HUNDRED, [Example(Query("q", "?"))]))


@pytest.mark.bench
def test_judging_takes_milliseconds() -> None:
    random = np.random.default_rng(0)
    corpus = Corpus.of([Document("d", text(207_000))], [Span("d", s, min(s + 400, 207_000)) for s in range(0, 207_000, 300)])
    starts = random.integers(0, 206_000, (276, 2))
    examples = [
        Example(Query(f"q{number}", "?"), tuple(Evidence((Span("d", start, start + 150),)) for start in row))
        for number, row in enumerate(starts.tolist())
    ]
    rankings = Rankings.top(random.random((276, len(corpus))), 100)
    gold = gold_table(corpus, examples)
    seconds = []
    for _ in range(30):
        began = time.process_time()
        judge(rankings, gold)
        seconds.append(time.process_time() - began)
    assert min(seconds) < 0.010
