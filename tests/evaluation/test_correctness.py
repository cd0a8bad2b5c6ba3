"""Correctness by hand: what each rule says, how claims are combined, and texts that should break it."""

import math
import time
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.components.metrics.correctness import Correctness
from rag.core.assessments import Assessment, Case, Claim, Spent, Verdict
from rag.core.text.facts import READ
from rag.core.text.refusals import claims
from rag.core.text.value_rules import decide, expected
from rag.core.types import Answer, Evidence, Example, Expected, Query, Reply
from rag.evaluation.answer_judging import Counted, assess, counted

VALUES = [  # question, reference, answer, value
    ("How long?", "4 days", "You may carry up to four days. [1]", 1),
    ("How long?", "2 days", "It takes 48 hours.", 1),
    ("How far?", "1.2 km", "1,200 metres", 1),
    ("What does it cost?", "£5", "It costs 5 pounds.", 1),
    ("What does it cost?", "£5", "It costs €5.", 0),
    ("How heavy?", "4 kg", "4 m", 0),
    ("When?", "July 5, 1984", "On 1984-07-05.", 1),
    ("When?", "5 July 1984", "It was on July 5, 1985.", 0),
    ("When?", "10 February 1763", "Peace came on 10 February 1757, and again on 15 February 1763.", 0),
    ("Which year?", "1984", "She was born on 5 July 1984.", 1),
    ("Which form?", "F-36", "Fill in **F-36**, not later than Monday.", 1),
    ("Which model?", "Tern 2L", "| Tern 2L | 18 months |", 1),
    ("Wie lange?", "4 Tage", "Die Frist beträgt 4 Tage.", 1),
    ("¿Cuánto cuesta?", "12 €", "Cuesta 12 €.", 1),
    ("?", "(a [b* c", "It is (a [b* c", 1),
    ("כמה ימים?", "4 ימים", "\u202b4 ימים\u202c", 1),
]
DENIALS = [
    ("How long?", "4 days", "4 days or 5 days", 0),
    ("How long?", "4 days", "4-5 days", 0),
    ("How long is the leave?", "4 days", "The leave is 4 days. The leave is 5 days.", 0),
    ("How long is the leave of crew?", "4 days", "Crew have 4 days. Wardens have 5 days.", 1),
    ("Where is it?", "Delhi", "It is in Delhi, the capital of India.", 1),
    ("Where is it?", "Delhi", "It is in Delhi or Mumbai.", 0),
    ("Where is it?", "Delhi", "It is in Delhi. It is in Mumbai.", 0),
    ("Where is it?", "Delhi", "It is not in Delhi.", 0),
    ("When did it end?", "1606", "It did not end until 1606.", 1),
    ("When did it end?", "1606", "1606 is not the year in which it ended.", 0),
    ("Who was it?", "Emma Marsh", "Emma Stone", 0),
    ("Who was it?", "George Marsh", "It is George Stone, not George Marsh.", 0),
    ("Where could it not be?", "Delhi", "It is Mumbai, not Delhi.", 0),
    ("Where could it not be?", "Delhi", "It could not be in Delhi.", 1),
    ("What did they value?", "soft power", "The worth of soft power is not lost on them.", 1),
    ("Which is older, Delhi or Agra?", "Agra", "It is Delhi rather than Agra.", 0),
    ("What is it?", "whale oil", "Either whale oil or 1.5 t of coal.", 0),
    ("What is it?", "whale oil", "It is either coal or whale oil.", 0),
    ("What is it?", "whale or seal oil", "It is either whale or seal oil.", 1),
    ("What is it?", "whale oil", "It either burns at once or smokes, as whale oil does.", 1),
    ("Who built it?", "Emma Marsh", "Emma Stone, the niece of Ann Marsh, built it in 1802.", 0),
    ("Which river?", "Vistula River", "The city lies on the Vistula Murray.", 0),
    ("Which river?", "Vistula River", "The city lies on the Vistula, and Greta Lund was born there.", 1),
    ("Who built it?", "Emma Marsh", "President Emma (Em) Marsh built it, and Ann Marsh paid.", 1),
    ("Who was it?", "President Emma Marsh", "Emma Marsh", 0.8),
    ("Which has more members, Curve or Saint Motel?", "Saint Motel", "Curve has more members than Saint Motel.", 0),
    ("Which has more members, Curve or Saint Motel?", "Saint Motel", "Of Curve and Saint Motel, Saint Motel has more.", 1),
    ("May I carry leave over?", "yes", "Yes, up to four days.", 1),
    ("May I carry leave over?", "no", "Yes, up to four days.", 0),
    ("May I carry leave over?", "no", "You may not carry leave over.", 1),
    ("May I carry leave over?", "yes", "The office is green.", 0),
    ("May I carry leave over?", "Yes, 4 days", "Yes, you may carry 5 days.", 0),
    ("What is the depth?", "I don't know", "The context does not say.", 1),
    ("What is the depth?", "The context does not say.", "4 m", 0),
    ("What is it?", "4 m", "", 0),
    ("What is it?", "4 m", "?!", 0),
    ("What is it?", "NaN", "nan", 1),
]


@pytest.mark.parametrize(("question", "reference", "answer", "value"), VALUES + DENIALS)
def test_a_short_reference_is_decided_by_rules(question: str, reference: str, answer: str, value: float) -> None:
    found = decide(question, answer, reference)
    assert found
    assert found.value == pytest.approx(value)


@pytest.mark.parametrize(
    ("values", "answer", "value"),
    [
        (("Tern 2", "Tern 2L"), "Tern 2 and Tern 2L", 1),
        (("Tern 2", "Tern 2L"), "The Tern 2L.", 2 / 3),
        (("Tern 2", "Tern 2L"), "Tern 2, Tern 2L and Heron 4", 0.8),
        (("Tern 2", "Tern 2L"), "- Tern 2\n- Heron 4\n", 0.5),
        (("48 hours", "72 hours"), "2 days, 3 days, 4 days", 0.8),
        (("48 hours", "72 hours"), "", 0),
    ],
)
def test_a_set_has_the_f1_of_its_values(values: tuple[str, ...], answer: str, value: float) -> None:
    assert expected("Which?", answer, Expected(values=values)).value == pytest.approx(value)


def test_a_sentence_is_left_to_a_judge_unless_yes_contradicts_no() -> None:
    reference = "Yes. You may carry leave over, if your manager agrees in writing and the crew stays complete."
    assert decide("May I?", "Leave can be carried over.", reference) is None
    assert decide("May I?", "No, leave lapses.", reference) == decide("May I?", "No.", reference)


@given(st.text(max_size=60), st.text(max_size=120), st.text(min_size=1, max_size=60))
def test_a_value_is_in_the_unit_interval_and_the_reference_itself_is_right(question: str, answer: str, reference: str) -> None:
    found = decide(question, answer, reference)
    assert found is None or 0 <= found.value <= 1
    same = decide(question, reference, reference)
    assert same
    assert same.value == 1
    assert 0 <= expected(question, answer, Expected(values=(reference, answer))).value <= 1


def test_long_texts_and_large_sets_take_bounded_time() -> None:
    began = time.process_time()
    for text in ("It is 5 days. ", "5 May 2020 ", "| a | 4 | 5 |\n", "ארבעה 4 \u202e ", "[", "not ", "4 days or "):
        found = decide("How long?", text * (2**20 // len(text)), "4 days")
        assert found
    values = tuple(f"Tern {number}" for number in range(10_000))
    all_named = expected("Which?", "; ".join(values), Expected(values=values)).value
    assert 0 < all_named < 1  # the answer is read to READ characters
    assert len("; ".join(values)) > READ
    assert time.process_time() - began < 15


class ByWords:
    """Supports the share of the words of a claim that the contexts have; cannot judge texts with the word `lost`."""

    threshold = 0.5

    def __init__(self) -> None:
        self.cases: list[Case] = []

    def judge(self, cases: Sequence[Case]) -> list[Verdict]:
        self.cases += cases
        return [Verdict(tuple(self._claim(case, *span) for span in claims(case.text)[0])) for case in cases]

    def judge_spending(self, cases: Sequence[Case]) -> list[tuple[Verdict, Spent]]:
        return [(verdict, Spent(10, 0.5)) for verdict in self.judge(cases)]

    def relate(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        raise AssertionError("nothing is related")

    def relate_spending(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[float, Spent]]:
        raise AssertionError("nothing is related")

    def _claim(self, case: Case, start: int, end: int) -> Claim:
        words, known = case.text[start:end].strip(".").split(), " ".join(case.contexts).replace(".", "").split()
        if "lost" in words:
            return Claim(start, end, math.nan, failure="lost")
        return Claim(start, end, sum(word in known for word in words) / len(words))


LONG = "Red green blue white black brown grey pink violet. One two three four five six seven eight nine ten."


def measured(text: str, answers: tuple[str, ...] = (), **more: object) -> tuple[float, Assessment, ByWords]:
    judge, query = ByWords(), Query("q", "Which?")
    expects = Expected(str(more["expects"])) if "expects" in more else None
    example = Example(query, (Evidence(("d",)),), answers, expects=expects)
    given = Answer(query, (), Reply(text), abstained=bool(more.get("abstained")))
    (assessment,) = assess(judge, [None if more.get("failed") else given], ("reference",), [example])
    return Correctness().assess(given, assessment), assessment, judge


def test_claims_are_compared_both_ways_and_mixed_with_words() -> None:
    value, assessment, judge = measured("Red green blue white black brown grey pink violet. Nothing else.", (LONG,))
    recall, precision = 0.5, 0.5
    words = 2 * 9 / (19 + 11)
    assert value == pytest.approx(0.75 * 2 * recall * precision / (recall + precision) + 0.25 * words)
    assert assessment.reference
    assert (assessment.reference.rule, assessment.reference.recall, assessment.reference.precision) == ("claims", 0.5, 0.5)
    assert [case.contexts for case in judge.cases] == [(judge.cases[1].text,), (LONG,)]
    assert (assessment.tokens, assessment.cost) == (20, 1.0)
    assert counted([assessment], [Answer(Query("q", ""), (), Reply("x"))], ("reference",)) == Counted(1, 0)


def test_to_decline_is_a_claim_that_the_other_side_makes_or_not() -> None:
    declining = f"The context does not say when. {LONG}"
    assert measured(declining, (declining,))[0] == 1
    value, assessment, _ = measured(f"{LONG} Pink.", (declining,))
    assert assessment.reference
    assert assessment.reference.recall == pytest.approx(2 / 3)
    assert value < 1


def test_the_best_reference_counts_and_a_judge_is_asked_only_where_no_rule_decides() -> None:
    value, _, judge = measured("four days", (LONG, "4 days"))
    assert (value, judge.cases) == (1, [])
    value, _, judge = measured("eleven days", (LONG, "4 days"))
    assert (value, len(judge.cases)) == (0, 2)
    assert measured("five days", (LONG, LONG.upper()), expects="5 days")[0] == 1


def test_abstentions_failures_and_questions_without_a_right_answer() -> None:
    assert measured("I do not know.", ("4 days",), abstained=True)[0] == 0
    assert measured("I do not know.", ("The documents do not say.",), abstained=True)[0] == 1
    assert measured("", ("4 days",), failed=True)[0] == 0
    for value, assessment, judge in (measured("4 days"), measured("4 days", ("", " "))):
        assert math.isnan(value)
        assert (assessment.reference, judge.cases) == (None, [])
    value, assessment, _ = measured("lost", (f"{LONG} {LONG}",))
    assert math.isnan(value)
    assert assessment.reference
    assert assessment.reference.failure == "lost"
    assert counted([assessment], [Answer(Query("q", ""), (), Reply("x"))], ("reference",)) == Counted(1, 1)
