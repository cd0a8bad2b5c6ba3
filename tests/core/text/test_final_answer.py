"""The start of an answer behind reasoning; nothing else is changed."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.components.generators.extractive import ExtractiveGenerator
from rag.components.generators.openai import OpenAiGenerator
from rag.components.prompts.sections import SectionPrompt
from rag.core.text.final_answer import Announced, awaited, concluded
from rag.core.types import Chunk, Finding, Query, Reply, Request, Span
from rag.pipeline.prompt.postprocess import check

FINAL = "Final answer:"
REQUEST = Request(Query("q", "?"), (Chunk(Span("d", 0, 1), "a"), Chunk(Span("d", 2, 3), "b")), ())


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Think [2].\nFinal answer: Seven [1].", "Seven [1]."),
        ("Think.\n\n**Final answer:** Seven.\nAnd eight.", "Seven.\nAnd eight."),
        ("## final ANSWER:\nSeven.", "Seven."),
        ("Final answer: six\nNo, seven.\n> Final answer: seven", "seven"),
        ("Final answer: **Seven** [1]", "**Seven** [1]"),
        ("Kind: question\nFinal answer:Seven.", "Seven."),
        ("Final answer:", ""),
        ("", ""),
    ],
)
def test_an_answer_begins_behind_its_last_announcement(text: str, answer: str) -> None:
    assert concluded([Reply(text, (2,), 3, 4, 0.5)], FINAL) == ([Reply(answer, (2,), 3, 4, 0.5)], [[]])


@pytest.mark.parametrize("text", ["Seven [1].", "I give no Final answer: none.", "Final answer is seven"])
def test_a_reply_without_an_announcement_stays_with_a_finding(text: str) -> None:
    replies, ((finding,),) = concluded([Reply(text)], FINAL)
    assert replies == [Reply(text)]
    assert (finding.source, finding.action) == ("prompt", "flag")
    assert FINAL in finding.what


@given(st.lists(st.text().map(Reply), max_size=3))
def test_without_an_announcement_nothing_is_changed(replies: list[Reply]) -> None:
    assert concluded(replies, "") == (replies, [[] for _ in replies])


@given(st.text(), st.text(alphabet=st.characters(exclude_characters="\r\n\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029")))
def test_the_text_behind_the_last_announcement_is_kept(thoughts: str, answer: str) -> None:
    ((reply,), _) = concluded([Reply(f"{thoughts}\n{FINAL} {answer}")], FINAL)
    assert reply.text == answer.strip()


def test_only_a_model_announces_an_answer() -> None:
    aloud = SectionPrompt("Think, then {announcement}", announcement=FINAL)
    assert awaited(aloud, OpenAiGenerator("m")) == FINAL
    assert awaited(aloud, ExtractiveGenerator()) == ""
    assert awaited(SectionPrompt("Go.", announcement=FINAL), OpenAiGenerator("m")) == ""


class Strict:
    """Regenerates replies with a thought."""

    def inspect(self, requests: list[Request], replies: list[Reply]) -> list[list[Finding]]:
        return [[Finding("strict", "thinks", "regenerate")] if "Think" in reply.text else [] for reply in replies]


class Second:
    """The model that generates again."""

    def generate(self, requests: list[Request]) -> list[Reply]:
        return [Reply("Think again [1].\nFinal answer: Eight [2].") for _ in requests]


def test_citations_abstention_and_inspections_read_the_answer_alone() -> None:
    replies = [Reply("Think [1].\nFinal answer: Seven [2]."), Reply("Think.\nFinal answer: No."), Reply("Think [1].")]
    found = check({"strict": Strict()}, [REQUEST] * 3, replies, Second(), "No.", FINAL)  # type: ignore[arg-type, dict-item]
    assert [(one.reply.text, one.reply.citations, one.abstained) for one in found] == [
        ("Seven [2].", (2,), False),
        ("No.", (), True),
        ("Eight [2].", (2,), False),
    ]
    assert [[finding.source for finding in one.findings] for one in found] == [[], [], ["prompt", "strict"]]


MARKED = ("Final answer:", "**Final answer:**", "> final ANSWER:", "*", "Fin")
WORDS = st.sampled_from(["Think.", "\n", "\n\n", " ", "Seven [1].", "ok", "日", *MARKED])


@given(st.lists(WORDS, max_size=12), st.data())
def test_pieces_behind_an_announcement_are_the_answer_however_they_are_cut(words: list[str], data: st.DataObject) -> None:
    text, pieces, heard = "".join(words), list[str](), list[str]()
    while len(text) > len("".join(pieces)):
        at = len("".join(pieces))
        pieces.append(text[at : at + data.draw(st.integers(1, 20))])
    announced = Announced(FINAL, heard.append)
    for piece in pieces:
        announced(piece)
    ((reply,), _) = concluded([Reply(text)], FINAL)
    times = len(re.findall(rf"^[ \t>#*_]*{FINAL}", text, re.MULTILINE | re.IGNORECASE))
    assert announced.end() == (times > 0)
    if times == 1:
        assert "".join(heard) == reply.text
    if times == 0:
        assert "".join(heard) == ""
    if times > 1:  # A draft: the text between the first two announcements.
        first = re.split(rf"^[ \t>#*_]*{FINAL}[*_]*", text, flags=re.MULTILINE | re.IGNORECASE)[1]
        assert "".join(heard) == first.strip()


def test_an_answer_is_passed_on_before_its_line_ends_and_other_text_as_empty_pieces() -> None:
    heard: list[str] = []
    announced = Announced(FINAL, heard.append)
    for piece in ("Kind: ", "question\n", "Final", " answer: It lea", "ves at", " seven"):
        announced(piece)
    assert heard == ["", "", "", "It lea", "ves at", " seven"]


def test_a_reply_of_one_long_line_of_marks_takes_no_time() -> None:
    announced = Announced(FINAL, lambda piece: None)
    for _ in range(20_000):
        announced("*")
    assert not announced.end()
