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
        ("Salaried staff may carry over 5 days.", "number", "how many days may salaried staff carry over", "5 days"),
        ("You may carry up to four days into May.", "number", "how many days may i carry into may", "up to four days"),
        ("The siren is tested every 40 minutes.", "frequency", "how often is the siren checked", "every 40 minutes"),
        ("The siren is tested on 4 May at 14:00.", "time", "at what time is the siren checked on 4 may", "at 14:00"),
        ("In 1529, Warsaw became the seat of the Sejm.", "date", "when did warsaw become the seat of the sejm", "in 1529"),
        ("William invaded Scotland in 1072, riding north.", "action", "what did william do in 1072", "invade Scotland"),
        ("Discounts can add up to 40 per cent.", "share", "up to what percentage can discounts add", "up to 40 per cent"),
        ("The crew must leave soon because it is high.", "reason", "why must the crew leave soon", "because it is high"),
        ("You may wade only if you hold a current ticket.", "condition", "when may i wade", "if you hold a current ticket"),
        ("The abbey was founded by William Shirley in Kent.", "agent", "who was the abbey founded by", "William Shirley"),
        ("The Vistula is the longest river in Poland.", "superlative", "what is the longest river in poland", "the Vistula"),
        ("Ana de Luna was a famous artist from Warsaw.", "definition", "who was ana de luna", "a famous artist from Warsaw"),
        ("We show that IL-17 inhibits bone growth.", "cause", "what blocks bone growth", "IL-17"),
        ("The flow was measured by means of floats.", "method", "how was the flow measured", "by means of floats"),
        ("The mast is based on a crane.", "basis", "what is the mast based on", "a crane"),
        ("The alarm was caused by a spark in a lift.", "origin", "what caused the alarm", "a spark in a lift"),
        ("The lamps are suitable for wet rooms.", "fit", "what are the lamps right for", "wet rooms"),
        ("An annual permit lasts for two years.", "duration", "for how long does a yearly permit last", "for two years"),
    ],
)  # fmt: skip
def test_a_sentence_becomes_a_question(sentence: str, rule: str, question: str, answer: str) -> None:
    assert asked(sentence)[rule] == (question, answer)


@pytest.mark.parametrize(
    "sentence",
    [
        "It lasts for two years.",
        "This ticket lasts for two years.",
        "Anyone who is late pays £5.",
        "William Pitt came to power and raised taxes in 1756.",
        "If it rains, the crew may stop for two hours.",
        "Neither of them was built in 1890.",
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
        assert len(found.text.split()) >= 4
