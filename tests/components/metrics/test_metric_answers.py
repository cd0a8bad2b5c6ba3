"""Answer metrics as SQuAD's script counts them."""

import math

import pytest

from rag.components.metrics.exact_match import ExactMatch
from rag.components.metrics.squad import normalised
from rag.components.metrics.token_f1 import TokenF1
from rag.components.metrics.token_recall import TokenRecall
from rag.core.records import Answer, Example, Query, Reply


def said(text: str) -> Answer:
    return Answer(Query("q", "?"), (), Reply(text))


def asked(*answers: str) -> Example:
    return Example(Query("q", "?"), answers=answers)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("The Cat!", "cat"),
        ("  a  b\tc\n", "b c"),
        ("an apple, a day", "apple day"),
        ("Theodore's", "theodores"),
        ("U.S.A.", "usa"),
        ("a–b", "–b"),
        ("", ""),
        ("the", ""),
    ],
)
def test_normalised(text: str, plain: str) -> None:
    assert normalised(text) == plain


@pytest.mark.parametrize(
    ("reply", "answers", "exact", "f1"),
    [
        ("The cat sat.", ("cat sat",), 1, 1),
        ("the cat sat", ("a cat sat down",), 0, 2 * 2 / (2 + 3)),
        ("cat", ("dog", "cat cat"), 0, 2 * 1 / (1 + 2)),
        ("cat cat", ("cat",), 0, 2 * 1 / (2 + 1)),
        ("dog", ("cat", "Dog!"), 1, 1),
        ("dog", ("cat",), 0, 0),
        ("", ("cat",), 0, 0),
        ("the", ("a",), 1, 1),
    ],
)
def test_values_by_hand(reply: str, answers: tuple[str, ...], exact: float, f1: float) -> None:
    assert ExactMatch().measure(asked(*answers), said(reply)) == exact
    assert TokenF1().measure(asked(*answers), said(reply)) == pytest.approx(f1)


def test_without_a_reference_there_is_no_score() -> None:
    assert math.isnan(ExactMatch().measure(asked(), said("cat")))
    assert math.isnan(TokenF1().measure(asked(), said("")))


@pytest.mark.parametrize(
    ("text", "references", "value"),
    [
        ("You get four days, to be taken by June.", ("4 days", "four"), 1.0),
        ("You get 4 weeks.", ("4 days",), 0.5),
        ("no", ("4 days",), 0.0),
        ("", ("4 days",), 0.0),
        ("days days", ("four days",), 0.5),
        ("", ("the",), 1.0),
        ("a word", ("the",), 0.0),
    ],
)
def test_token_recall_asks_for_the_words_of_a_reference(text: str, references: tuple[str, ...], value: float) -> None:
    assert TokenRecall().measure(asked(*references), said(text)) == value


def test_token_recall_without_a_reference_is_not_known() -> None:
    assert math.isnan(TokenRecall().measure(asked(), said("four")))
