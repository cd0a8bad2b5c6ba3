"""Which numbers, dates, names and negations are the same: one table for judge, correctness, memory, authority and checks.

The table holds the decisions where readers once differed. Each reader compares in its own way, with one result.
"""

from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.core.text.statements import read_statement
from rag.core.text.value_rules import decide
from rag.core.text.values.numbers import cardinal, numbers, values
from rag.core.text.values.words import NEGATION, words


def by_check(one: str, other: str) -> bool:
    known = values(other)
    return all(number.among(known) for number in numbers(one))


def by_judge(one: str, other: str) -> bool:
    held = {stem for word in words(other) for stem in (word.stem, *word.also)}
    counted = [word for word in words(one) if word.kind in ("number", "month")]
    return all(not held.isdisjoint({word.stem, *word.also}) for word in counted)


def by_correctness(one: str, other: str) -> bool:
    found = decide("What?", f"It is {other}.", one)
    return found is not None and found.value == 1


def by_statements(one: str, other: str) -> bool:
    """Memory and authority: a newer statement does not replace the older one."""
    return not read_statement(f"The limit is {one}.", "english").contradicts(
        read_statement(f"The limit is {other}.", "english")
    )


READERS = (by_check, by_judge, by_correctness, by_statements)


def pairs(table: str) -> list[tuple[str, ...]]:
    """The pairs of a table, separated by semicolons and lines."""
    return [tuple(pair.split(" ~ ")) for line in table.strip().splitlines() for pair in line.split(" ; ")]


SAME = """
1,000 ~ 1000 ; 1.000 ~ 1000 ; 1’000 ~ 1 000 ; 1 000 crowns ~ 1000 crowns ; 1,234,567.50 ~ 1.234.567,5 ; 1.50 ~ 1,5 ; 007 ~ 7
1,500.5 ~ 1500.5 ; 5 % ~ five per cent ; 5% ~ 5 percent ; 8th ~ the eighth ; twenty-one ~ 21 ; twelfth ~ 12th
two hundred and fifty ~ 250 ; three thousand four hundred ~ 3,400 ; 1.2 million ~ 1,200,000 ; 5k ~ 5000 ; a dozen ~ 12
1 billion ~ 1bn ; £1.2m ~ £1.2 million ; 2½ days ~ 2.5 days ; the 1990s ~ the 1990 ; 230 m ~ 230 metres ; twice ~ 2
01.06.2025 ~ 1 June 2025 ; 2025-06-01 ~ 1 June 2025 ; June 1st, 2025 ~ 1 Jun. 2025 ; 2004-11-02 ~ Nov. 2, 2004
November ~ in Nov. ; 11/2025 ~ November 2025 ; 3rd of may ~ May 3 ; 5 pm ~ 17:00 ; 9 a.m. ~ 09:00 ; 12:30 ~ 12.30 pm
5–10 % ~ 5% to 10% ; 2 to 3 million ~ 2,000,000 to 3,000,000
"""
DIFFERENT = """
1000 ~ 1,0001 ; 1.5 ~ 15 ; 12 ~ 120 ; 25 ~ 26 ; 2.0 ~ 2.1 ; 5 million ~ 5 thousand ; 5 ~ 5 million ; 1,5 ~ 1500 ; 13 ~ three
1 July 2025 ~ 1 June 2025 ; 1 June 2025 ~ 2 June 2025 ; June ~ July ; 5 pm ~ 6 pm ; twenty-one ~ twenty-two
"""


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(("one", "other"), pairs(SAME))
def test_what_is_the_same_value(one: str, other: str, reader: Callable[[str, str], bool]) -> None:
    assert reader(one, other)
    assert reader(other, one)


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(("one", "other"), pairs(DIFFERENT))
def test_what_is_another_value(one: str, other: str, reader: Callable[[str, str], bool]) -> None:
    assert not reader(one, other)


OTHERWISE = """
0.5 days ~ half a day ; 50 % ~ a half ; 0.25 l ~ ¼ l ; 2024/2025 ~ the year 2024/25 ; 7 % ~ | Rate (%) | 7 |
6/2025 ~ in June 2025 or 6 ; 2025-06-01 ~ 1 6 2025 ; 3 percentage points ~ 3 %
"""
INCOMPLETE = "5 % ~ 5 pupils ; 5–10 % ~ 5 and 10 pupils ; 5 ~ £5 thousand ; 5 ~ 5 million ; 5 million ~ 5 m of cable"


@pytest.mark.parametrize(
    ("reply", "context", "known"), [(*pair, text is OTHERWISE) for text in (OTHERWISE, INCOMPLETE) for pair in pairs(text)]
)
def test_what_documents_say_otherwise_and_incompletely(reply: str, context: str, known: bool) -> None:
    assert by_check(reply, context) == known


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("1,500.5 and 1.000", "1,500.5=#1500.5 1.000=#1"),
        ("2.4 million of 230 m, 1bn, both, single", "2.4 million=#2400000 230=#230 1bn=#1000000000"),
        ("2004-11-02", "2004=#2004 11=month 11 02=#2"),
        ("You may march 20 km by March", "20=#20 March=month 3"),
        ("May I go in May? On 5 may, 3rd of march, march 20, 2020", "May=month 5 5=#5 3rd=#3 march=month 3 20=#20 2020=#2020"),
        ("Section 5 may apply to Theresa, by May 3", "Section=section? 5=#5 Theresa=theresa May=month 5 3=#3"),
        (
            "It met Anna's K2, OV-4010 and v6.15.0, not 5 pm",
            "Anna's=anna K=k 2=#2 OV=ov 4010=#4010 6=#6 15=#15 0=#0 not=not 5 pm=#5",
        ),
        ("Instead, Holm paid. Anna did: the Kellers did", "Holm=holm Anna=anna? Kellers=keller"),
        ("1. Two of them, one day, the 1990s, twenty-one", "Two=#2? one=#1 1990s=#1990 twenty-one=#21"),
        ("He isn’t, never, no longer and unable; no later, instead of Bo", "isn’t=isn't never=never no=no unable=unabl Bo=bo"),
        ("Nothing, none. No, without; failed, declined", "none=none without=without failed=fail declined=declin"),
        ("七点 Holm’s 401K or 401(k)", "Holm’s=holm 401K=#401000 401=#401"),
    ],
)
def test_what_a_word_is(text: str, kinds: str) -> None:
    """Values are shown with their stem; `?` marks one that may be none."""
    found = [word for word in words(text) if word.kind != "word"]
    assert " ".join(f"{text[one.start : one.end]}={one.stem}{'?' * one.doubt}" for one in found) == kinds


@pytest.mark.parametrize(
    ("text", "words_denying", "values_denied"),
    [
        ("It is not so", 1, 1),
        ("It isn't, no longer, and never was", 3, 3),
        ("He failed and refused", 2, 0),
        ("A instead of B, rather than C, except D", 0, 3),
        ("No later than five, no more than six; No, seven", 0, 0),
    ],
)
def test_what_a_negation_denies(text: str, words_denying: int, values_denied: int) -> None:
    denying = [word for word in words(text) if word.kind == "negation"]
    assert (len(denying), len(NEGATION.findall(text))) == (words_denying, values_denied)


@pytest.mark.parametrize(
    ("newer", "older", "contradicts"),
    [
        ("The code is 4417.", "The code is 9021.", True),
        ("Holm has 3 gates.", "Holm has 3 gates and 2 bridges.", False),
        ("Holm has 3 gates and 2 bridges.", "Holm has 3 gates.", False),
        ("We meet at Holm.", "We meet at Southmoor.", True),
        ("We meet at Holm.", "We meet at Holm or Southmoor.", False),
        ("I do not eat fish.", "I eat fish.", True),
        ("Is the code 4417?", "The code is 9021.", False),
        ("I need one of them.", "I need two of them.", False),
        ("It takes one day.", "It takes two days.", True),
    ],
)
def test_what_a_newer_statement_contradicts(newer: str, older: str, contradicts: bool) -> None:
    assert read_statement(newer, "english").contradicts(read_statement(older, "english")) == contradicts


def test_what_the_judge_finds_besides() -> None:
    assert by_judge("two gates", "both gates")
    assert by_judge("401(k)", "401K")
    assert [word.kind for word in words("a no-confidence vote")][1] == "negation"


def test_a_word_that_counts() -> None:
    counted = {"two": "2", "nineteen": "19", "1,500": "1500", "007": "7", "one": None, "first": None, "x1": None}
    assert {word: cardinal(word) for word in counted} == counted


@pytest.mark.parametrize(
    "text", ["hundred " * 3000, "dozen " * 5000, "9" * 5000 + " thousand", "9" * 5000 + "½", "1,2,3½ 1:99:99 pm"]
)
def test_no_text_has_a_number_that_is_too_long(text: str) -> None:
    assert by_check(text, text)


@given(st.text())
def test_every_reader_takes_every_text_and_places_are_those_of_the_text(text: str) -> None:
    found = words(text)
    assert all(0 <= word.start < word.end <= len(text) for word in found)
    assert all(one.end <= two.start for one, two in pairwise(found))
    assert by_check(text, text)
    assert by_judge(text, text)
