"""What a follow-up takes from the turns before it, and what is left alone."""

import importlib
from typing import Any

import pytest
from support.choices import node

from rag.components.queries.carry_over import CarryOver
from rag.components.queries.words import language
from rag.core.types import Query, Turn

NODE = node("queries", "carry_over")


def carry(**parameters: Any) -> CarryOver:
    module, _, name = NODE["_target_"].rpartition(".")
    built = getattr(importlib.import_module(module), name)(
        **({key: value for key, value in NODE.items() if key != "_target_"} | parameters)
    )
    assert isinstance(built, CarryOver)
    return built


def carried(question: str, *earlier: str, **parameters: Any) -> list[str]:
    return carry(**parameters).carried(Query("q", question, tuple(Turn("user", text) for text in earlier)))


@pytest.mark.parametrize(
    ("earlier", "question", "words"),
    [
        (["What is throat cancer?"], "Is it treatable?", ["throat", "cancer"]),
        (["What does K-212 mean?"], "and on the newer one?", ["K-212"]),
        (["What is throat cancer?", "Is it treatable?"], "What causes it?", ["throat", "cancer"]),
        (["What is throat cancer?", "Tell me about Lyme disease."], "Can it kill you?", ["Lyme", "disease"]),
        (["What is throat cancer?"], "Which doctors?", ["throat", "cancer"]),
        (["What is throat cancer?"], "And cancers in general?", ["throat"]),
        (["Is vitamin C safe, and how much?"], "And for a child?", ["vitamin", "C", "safe"]),
        (["What is throat cancer?"], "How much does each cost?", ["throat", "cancer"]),
    ],
)
def test_a_follow_up_takes_the_words_of_its_topic(earlier: list[str], question: str, words: list[str]) -> None:
    assert carried(question, *earlier) == words


def test_in_german_an_article_before_a_noun_is_no_hint_and_a_capital_names_nothing() -> None:
    for question in ("Wie lange dauert das?", "Wer prüft sie nach der Probefahrt bis Ziegelei?"):
        assert carried(question, "Wann werden die Radreifen getauscht?", language="german") == ["Radreifen", "getauscht"]
    for question in ("Wie lange muss das neue Fahrrad am Rossmarkt stehen?", "Wer kauft bei Ihnen Fahrscheine am Automaten?"):
        assert carried(question, "Wann werden die Radreifen getauscht?", language="german") == []


THROAT = (Turn("user", "What is throat cancer?"),)


@pytest.mark.parametrize(
    ("question", "history", "text"),
    [
        ("What does the Environment Agency charge?", THROAT, None),
        ("How long are mails kept on servers before they are deleted?", THROAT, None),
        ("Which form do trustees sign when money is moved?", THROAT, None),
        ("What does P-8 allow?", THROAT, None),
        ("How many doctors does each hospital have?", THROAT, None),
        ("Drugs used in both hospitals, with their prices", THROAT, None),
        ("Which drugs are used in both?", THROAT, "Which drugs are used in both? throat cancer"),
        (" Is it treatable? ", (), None),
        ("Is it treatable? ", THROAT, "Is it treatable? throat cancer"),
        ("Tell me more about that", THROAT, "What is throat cancer?"),
        ("Why?", (*THROAT, Turn("assistant", "A disease."), Turn("user", "Thanks!")), "What is throat cancer?"),
        ("And by when?", (*THROAT, Turn("user", "Is it treatable?")), "Is it treatable? throat cancer"),
        ("Why?", (), None),
    ],
)
def test_only_a_follow_up_that_leans_gets_words_behind_it(question: str, history: tuple[Turn, ...], text: str | None) -> None:
    (sought,) = carry().rewrite([Query("q", question, history)])
    assert sought.texts == (text or question,)


def test_a_switch_of_topic_leaves_the_old_one_behind() -> None:
    assert carried("And then?", "Which alpha beta gamma delta epsilon zeta?", most=2) == ["epsilon", "zeta"]
    turns = ["What is throat cancer?", "Is throat cancer treatable?", "Which dogs herd sheep?"]
    assert carried("What do they eat?", *turns) == ["dogs", "herd", "sheep"]
    # 1.9 · .9 for the words of two turns against 1 for those of one, without the switch.
    assert carried("What do they eat?", *turns, switch=1.0, share=0.8) == ["throat", "cancer"]


def test_weights_are_those_of_the_fold() -> None:
    topic = carry()._topic((Turn("user", "Which dogs herd sheep?"), Turn("user", "Do they herd cattle?")))
    # `Do they herd cattle?` leans: its terms add a half.
    assert topic.weights == pytest.approx({"dog": 0.9, "herd": 1.4, "sheep": 0.9, "cattl": 0.5})


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("Ask Tom Prowse", ["Tom", "Prowse"]),
        ("Where is it? Near Holm.", ["Holm"]),
        ("code K-212 after 12 hours in 2025", ["K-212", "2025"]),
        ("the BBC's archive", ["BBC"]),
    ],
)
def test_names_are_capitals_inside_sentences_and_what_holds_digits(text: str, named: list[str]) -> None:
    words = language({"light": "ask where is near after in the here", "hints": "it"}, "english")
    assert [term.text for term in words.terms(text) if term.named] == named
