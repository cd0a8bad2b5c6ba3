"""English sentences as questions: the grammar of each rule, and sentences that must give none."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.authoring.generation.english import English
from rag.authoring.generation.wording import Wording

COMMON = frozenset(["park", "staff", "salaried", "ticket", "siren", "annex", "line", "managers", "visit", "parcels"])
ENGLISH = English(Wording("english"), COMMON)


def asked(sentence: str) -> dict[str, tuple[str, str]]:
    """Rule → question, in lower case without its question mark, and answer."""
    return {found.rule: (found.text.lower().rstrip("?"), found.answer) for found in ENGLISH.questions(sentence)}


@pytest.mark.parametrize(
    ("sentence", "rule", "question", "answer"),
    [
        ("A ticket lasts for two years.", "duration", "for how long does a ticket last", "for two years"),
        ("You may carry up to four lamps into May.", "number", "how many lamps may i carry into may", "up to four lamps"),
        ("The siren is tested every 40 minutes.", "frequency", "how often is the siren tested", "every 40 minutes"),
        ("The siren is tested on 4 May at 14:00.", "time", "at what time is the siren tested on 4 may", "at 14:00"),
        ("In 1529, Warsaw became the seat of the Sejm.", "date", "when did warsaw become the seat of the sejm", "in 1529"),
        ("Kent Abbey opened on June 4, 1901.", "date", "when did kent abbey open", "on June 4, 1901"),
        ("Kent Abbey opened on June 4.", "", "", ""),  # of which year?
        ("Discounts can add up to 40 per cent.", "share", "up to what percentage can discounts add", "up to 40 per cent"),
        ("The night crew must leave soon because of fog.", "reason", "why must the night crew leave soon", "because of fog"),
        ("Dogs may wade in pools if it is calm.", "condition", "under what condition may dogs wade in pools", "if it is calm"),
        ("The abbey was founded by William Shirley in Kent.", "agent", "who was the abbey founded by", "William Shirley"),
        ("The Vistula is the longest river in Poland.", "superlative", "what is the longest river in poland", "the Vistula"),
        ("Ana de Luna was a famous artist from Warsaw.", "definition", "who was ana de luna", "a famous artist from Warsaw"),
        ("Ana de Luna (2 May 1901 – 4 June 1985) was a nurse.", "born", "when was ana de luna born", "2 May 1901"),
        ("Ana de Luna (2 May 1901 – 4 June 1985) was a nurse.", "died", "when did ana de luna die", "4 June 1985"),
        ("Tall Ships is a 1998 film written by Ana Luna.", "maker", "who wrote tall ships", "Ana Luna"),
        ("We enrolled 599 patients with gout and 3 nurses.", "number", "how many patients with gout were enrolled", "599"),
        ("A total of 42 men were asked about pain.", "number", "how many men were asked about pain", "42"),
        ("The fee for a late permit is $45.", "measure", "what is the fee for a late permit", "$45"),
        ("12% of the boats were lost in June.", "share", "what percentage of the boats were lost in june", "12%"),
        ("Gout is a common disease of the joints of adults.", "", "", ""),  # says what is thought of it
        ("Gout is a disease of the joints of adults.", "definition", "what is gout", "a disease of the joints of adults"),
        ("Gout is caused by beer.", "relation", "what is gout caused by", "beer"),
        ("Gout is caused by beer, wine and meat.", "", "", ""),
        ("Kent Abbey opened on June 4, 1901 for all of the people of the towns on the coast.", "", "", ""),  # a copy
        ("The only Kent Abbey was only opened in June 1901.", "date", "when was the only kent abbey opened", "in June 1901"),
        ("One abbey opened on June 4, 1901.", "", "", ""),
        ("Gout (-/-) is caused by beer.", "", "", ""),
        ("“No,” said Ana Luna, the mayor of Kent.", "role", "who is the mayor of kent", "Ana Luna"),
    ],
)  # fmt: skip
def test_a_sentence_becomes_a_question(sentence: str, rule: str, question: str, answer: str) -> None:
    assert asked(sentence).get(rule) == ((question, answer) if rule else None)
    assert rule or asked(sentence) == {}


@pytest.mark.parametrize(
    "sentence",
    [
        "It lasts for two years.",
        "Anyone who is late pays £5.",
        "William Pitt came to power and raised taxes in 1756.",
        "If it rains, the crew may stop for two hours.",
        "He said that the tower was built in 1890.",
        '"The tower was built in 1890," said the mayor.',
        "The first deal Scott made was signed in 2011.",
        "| Tern 2 | 24 | 88 |",
        "Was the tower built in 1890?",
        "The tower that the mayor likes was built in 1890.",
    ],
)
def test_an_uncertain_sentence_gives_none(sentence: str) -> None:
    assert asked(sentence) == {}


PIECES = "the crew|A ticket|may|is|lasts|was founded|by|in 1999|for two years|because|{x}|if|,|\x07".split("|")  # noqa: SIM905


@given(st.one_of(st.text(max_size=120), st.lists(st.sampled_from(PIECES), max_size=14).map(" ".join)))
def test_any_text_is_read(text: str) -> None:
    for found in ENGLISH.questions(text):
        assert found.text
        assert not re.search(r"\b(?:when|the|of|and)\?$", found.text)
        assert len(found.text.split()) >= 3
