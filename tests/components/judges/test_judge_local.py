"""The judge without a key."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.judge_texts import WordEncoder

from rag.components.judges.local import LocalJudge
from rag.core.assessments import Case

WEIGHTS = {"bias": -4.0, "clause": 6.0, "passage": 1.0, "pairs": 0.0, "numbers": -4.0, "names": -2.0}
WEIGHTS |= {"contradiction": -3.0, "changed": -1.0}
RELEVANCE = {"bias": -6.0, "cosine": 8.0, "words": 7.0}
PLACES = ("office", "boiler", "garden", "train", "kitchen")
VERBS = ("holds", "needs", "costs", "moves")


@pytest.fixture
def judge(words_only: Any) -> LocalJudge:
    return LocalJudge(words_only, WEIGHTS, RELEVANCE)


def support(judge: LocalJudge, text: str, *contexts: str) -> float:
    (verdict,) = judge.judge([Case(text, contexts)])
    return verdict.support


def test_every_penalty_is_its_log_odds(judge: LocalJudge) -> None:
    rows = np.array(
        [
            [1, 1, 0, 0, 0, 0, 0, 0],
            [1, 1, 0, 0.5, 0, 0, 0, 0],
            [1, 1, 0, 0, 2 / 3, 0, 0, 0],
            [1, 1, 0, 0, 0, 1, 0, 0],
            [1, 1, 0, 0, 0, 0, 1, 0],
            [0, 0, 0, 1, 1, 1, 1, 1],
        ]
    )
    odds = [3.0, 3.0 - 2.0, 3.0 - 4 / 3, 0.0, 2.0]
    assert judge.supports(rows) == pytest.approx([*(1 / (1 + math.exp(-odd)) for odd in odds), 1.0])


def test_measures_in_closed_form(judge: LocalJudge) -> None:
    case = Case("Keller moved 7 boilers and 9 ovens.", ("Old boilers and ovens were moved.",))
    ((clause, passage, pairs, numbers, names, contradiction, changed, quoted),) = judge.measure([case]).tolist()
    # Boilers, ovens and moved are in the one sentence (rarity ln 4/3), Keller, 7 and 9 in none (ln 4).
    assert passage == pytest.approx(3 * math.log(4 / 3) / (3 * math.log(4 / 3) + 3 * math.log(4)))
    # Of Keller moved, moved 7, 7 boilers, boilers 9 and 9 ovens none is in the context, where the ovens follow the boilers.
    assert (pairs, numbers, names, contradiction, changed, quoted) == (0.0, 2 / 3, 1 / 2, 0.0, 0.0, 0.0)
    ((_, _, pairs, *_),) = judge.measure([Case("Keller had the old boilers and all ovens moved.", case.contexts)]).tolist()
    assert pairs == 3 / 4
    assert 0 <= clause < 1


def test_a_quotation_is_supported_and_shown(judge: LocalJudge) -> None:
    (verdict,) = judge.judge(
        [Case("the boiler costs 48,000 francs [2]", ("Nothing here.", "In all, the boiler costs 48000 francs."))]
    )
    (claim,) = verdict.claims
    assert claim.support == 1.0
    assert [(where.context, where.start, where.end) for where in claim.evidence] == [(2, 8, 37)]


def test_missing_words_are_reported(judge: LocalJudge) -> None:
    (verdict,) = judge.judge([Case("Anna Meier paid 300 francs in May.", ("Anna Keller paid 200 francs in June.",))])
    assert verdict.claims[0].lacking == ("Meier", "300", "May")


def test_a_text_measures_what_its_claims_do_on_average_by_content(judge: LocalJudge) -> None:
    contexts = ("The door is red.",)
    (verdict,) = judge.judge([Case("The door is red. A cat sleeps here at night.", contexts)])
    one, two = (claim.support for claim in verdict.claims)
    assert one == 1.0 > two
    # Door and red are in the one sentence (rarity ln 4/3), cat, sleeps and night are not (ln 4).
    share = 2 * math.log(4 / 3) / (2 * math.log(4 / 3) + 3 * math.log(4))
    clause = judge.measure([Case("A cat sleeps here at night.", contexts)])[0, 0]
    odds = -4 + 6 * (share + (1 - share) * clause) + share
    assert verdict.support == verdict.faithfulness == pytest.approx(1 / (1 + math.exp(-odds)))


def test_items_of_lists_and_quotations_are_claims(judge: LocalJudge) -> None:
    text = 'The rules:\n\n1. Pay 5 francs.\n2. The sign says "no dogs in the garden" at the gate.'
    (verdict,) = judge.judge([Case(text, ("Visitors read: no dogs in the garden.",))])
    said = {text[claim.start : claim.end]: claim.support for claim in verdict.claims}
    assert list(said) == [
        "The rules:", "Pay 5 francs.", 'The sign says "no dogs in the garden" at the gate.', "no dogs in the garden"
    ]  # fmt: skip
    assert said["no dogs in the garden"] == 1.0
    (wrong,) = judge.judge([Case(text, ("Visitors read: no cats in the garden.",))])
    assert wrong.claims[-1].support < 1.0


def test_what_says_nothing_is_no_claim_and_alone_it_cannot_be_judged(judge: LocalJudge) -> None:
    beside, alone = judge.judge(
        [Case("Yes. The door is red.", ("The door is red.",)), Case("It is so.", ("The door is red.",))]
    )
    assert [claim.support for claim in beside.claims] == [1.0]
    assert (alone.failures, alone.abstained) == (1, False)
    assert math.isnan(alone.faithfulness)


def test_no_contexts_carry_nothing(judge: LocalJudge) -> None:
    assert support(judge, "The door is red.") < 0.05
    assert support(judge, "The door is red.", "", " \n") < 0.05


facts = st.builds(
    "The {} {} {} {}.".format, st.sampled_from(PLACES), st.sampled_from(VERBS), st.integers(2, 50), st.sampled_from(PLACES)
)


@settings(max_examples=60, deadline=None)
@given(claim=st.text(max_size=60) | facts, contexts=st.lists(st.text(max_size=80) | facts, max_size=3))
def test_support_is_a_probability_and_a_quotation_never_lowers_it(claim: str, contexts: list[str]) -> None:
    judge = LocalJudge(WordEncoder(), WEIGHTS, RELEVANCE)
    (before,) = judge.judge([Case(claim, tuple(contexts))])
    (after,) = judge.judge([Case(claim, (*contexts, claim))])
    ends = {claim.end: claim for claim in after.claims}
    for one, two in ((claim, ends[claim.end]) for claim in before.claims):
        assert one.failure or 0 <= one.support <= two.support
        assert two.failure or 0 <= two.support <= 1


def test_relevance_is_a_mix_of_meaning_and_words(judge: LocalJudge) -> None:
    pairs = [
        ("Who inspects the boiler?", "The office is closed. Anna inspects the boiler."),
        ("Who inspects the boiler?", "Receipts are handed in within 60 days."),
        ("Who inspects the boiler?", "…"),
        ("", "Anna inspects the boiler."),
    ]
    about, elsewhere, wordless, unasked = judge.relate(pairs)
    assert about > 0.9 > 0.1 > elsewhere > 0
    assert (wordless, unasked) == (0, 0)
