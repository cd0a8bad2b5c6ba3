"""What becomes of a reply: cuts, markers to nothing, refusals, one more try, abstention."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.scripted_generator import Scripted

from rag.core.documents import Block
from rag.core.text.edits import Cut, Edited
from rag.core.types import Chunk, Finding, Message, Query, Reply, Request, Span
from rag.pipeline.prompt.excerpts import Screened
from rag.pipeline.prompt.postprocess import MARKERS, Checked, check
from rag.pipeline.prompt.prompt_assembly import Prepared
from rag.pipeline.prompt.refusal_wording import worded

REFUSAL = "I cannot say."


def always(reply: Reply) -> Scripted:
    return Scripted(lambda request: reply)


@dataclass(frozen=True)
class Finds:
    """Finds what it is told to in replies that hold `word`."""

    findings: tuple[Finding, ...]
    word: str = ""

    def inspect(self, requests: Sequence[Request], replies: Sequence[Reply]) -> list[list[Finding]]:
        return [list(self.findings) if self.word in reply.text else [] for reply in replies]


def request(*contexts: str) -> Request:
    chunks = tuple(Chunk(Span("d", 0, len(text)), text) for text in contexts)
    return Request(Query("q", "?"), chunks, (Message("user", "?"),))


def checked(text: str, *findings: Finding, contexts: Sequence[str] = ("one", "two")) -> Checked:
    (done,) = check({"one": Finds(findings)}, [request(*contexts)], [Reply(text)], always(Reply("")), REFUSAL)
    return done


SENTENCES = {
    "absent": "{refusal} Asked: {topic}{pages}",
    "failed": "{refusal} Failed: {checks}{pages}",
    "unverified": "{refusal} Cannot be verified{pages}",
}
ON_PAGE = Chunk(Span("d", 0, 3), "one", (), (Block("text", 0, 3, 3),))


@pytest.mark.parametrize(
    ("checks", "reply", "text"),
    [
        ([], REFUSAL, "I cannot say. Asked: Who bakes bread? (p. 3)"),
        ([], "It is so [1].", "It is so [1]."),
        (["citations"], "It is so.", "I cannot say. Cannot be verified (p. 3)"),
        (["citations", "numbers"], "It is 9.", "I cannot say. Failed: citations, numbers (p. 3)"),
        ([], "I don't know.", "I cannot say. Asked: Who bakes bread? (p. 3)"),
    ],
)
def test_a_refusal_says_why(checks: list[str], reply: str, text: str) -> None:
    done = checked(reply, *(Finding(name, "x", "refuse") for name in checks))
    prepared = Prepared(request("one"), (), (), Screened((), ()), (ON_PAGE,))
    told = worded(done, prepared, Query("q", "Who  bakes bread?"), REFUSAL, SENTENCES)
    assert (told.reply.text, told.abstained) == (text, done.abstained)
    assert worded(done, prepared, Query("q", "?"), REFUSAL, {}) == done
    bare = worded(checked(REFUSAL), replace(prepared, chunks=()), Query("q", "a" * 99), REFUSAL, SENTENCES)
    assert bare.reply.text == f"I cannot say. Asked: {'a' * 79}…"


def test_several_removals_are_those_that_were_meant() -> None:
    text = "Go to A, then B, then C, then home [1]."
    gone = [Finding("g", "x", "remove", start=start, end=end) for start, end in ((16, 23), (7, 15), (12, 18))]
    kept = Finding("g", "y", start=30, end=34)
    done = checked(text, *gone, kept)
    assert done.reply.text == "Go to A, then home [1]."
    (place,) = [(one.start, one.end) for one in done.findings if one.what == "y"]
    assert done.reply.text[slice(*place)] == "home"
    assert [(one.start, one.end) for one in done.findings[:3]] == [(7, 7), (7, 7), (7, 7)]
    assert done.reply.citations == (1,)


def test_markers_to_nothing_are_dropped_and_reported() -> None:
    done = checked("Yes [1]. No [2, 7]. Perhaps [9]. Still [0][2].")
    assert done.reply.text == "Yes [1]. No [2]. Perhaps. Still[2]."
    assert done.reply.citations == (1, 2)
    assert [(one.source, one.what) for one in done.findings] == [
        (MARKERS, "cites 7, and there are 2 contexts"),
        (MARKERS, "cites 9, and there are 2 contexts"),
        (MARKERS, "cites 0, and there are 2 contexts"),
    ]
    assert [done.reply.text[one.start : one.end] for one in done.findings] == ["[2]", "", ""]


def test_what_closes_up_around_a_marker_is_looked_at_again() -> None:
    done = checked("Yes [[9]8].", contexts=["one"])
    assert done.reply.text == "Yes."
    assert len(done.findings) == 2


def asked_again(second: str, failure: str = "") -> tuple[Checked, Scripted]:
    generator = always(Reply(second, (), 5, 2, 0.25, failure=failure))
    found = Finding("c", "bad", "regenerate", start=0, end=3, advice="Cite.")
    (done,) = check({"c": Finds((found,), "bad")}, [request("one")], [Reply("bad", (), 3, 1, 0.5)], generator, REFUSAL)
    return done, generator


def test_a_reply_is_asked_for_once_more_and_paid_twice() -> None:
    done, generator = asked_again("good [1]")
    assert done.reply == Reply("good [1]", (1,), 8, 3, 0.75)
    assert done.findings == (Finding("c", "bad", "regenerate", advice="Cite."),)
    (again,) = generator.requests
    assert again.messages == (Message("user", "?"), Message("assistant", "bad"), Message("user", "Cite."))


def test_what_fails_twice_is_refused() -> None:
    done, generator = asked_again("bad too")
    assert len(generator.requests) == 1
    assert (done.reply.text, done.abstained, done.reply.prompt_tokens) == (REFUSAL, True, 8)
    assert [one.action for one in done.findings] == ["regenerate", "refuse"]


def test_what_is_refused_is_not_asked_again() -> None:
    findings = (Finding("c", "bad", "regenerate", advice="Cite."), Finding("d", "worse", "refuse"))
    generator = always(Reply("good"))
    (done,) = check({"c": Finds(findings)}, [request("one")], [Reply("bad")], generator, REFUSAL)
    assert (done.reply.text, generator.requests) == (REFUSAL, [])


def test_what_was_to_be_cut_from_the_first_reply_stays_in_the_second() -> None:
    findings = (Finding("c", "bad", "regenerate", advice="Cite."), Finding("d", "cut", "remove", start=0, end=3))
    (done,) = check({"c": Finds(findings, "bad")}, [request("one")], [Reply("bad")], always(Reply("good")), REFUSAL)
    assert done.reply.text == "good"
    assert [(one.action, one.end) for one in done.findings] == [("regenerate", 0), ("flag", 0)]


def test_where_there_is_no_second_reply_the_first_is_refused() -> None:
    done, _ = asked_again("", failure="too long")
    assert (done.reply.text, done.abstained, done.reply.prompt_tokens) == (REFUSAL, True, 3)
    assert [one.action for one in done.findings] == ["refuse"]


@pytest.mark.parametrize(
    ("text", "abstained"), [("", True), ("I cannot say.", True), ("I cannot say [7]", True), ("The sources do not say.", True)]
)
def test_declining(text: str, abstained: bool) -> None:
    assert checked(text).abstained is abstained


def test_a_quoted_refusal_is_an_answer() -> None:
    assert not checked("We do not know the depth. [1]", contexts=["It is old. We do not know the depth."]).abstained


@given(st.text(alphabet="abc", max_size=12), st.lists(st.tuples(st.integers(0, 12), st.integers(0, 4)), max_size=4))
def test_cuts_leave_what_none_of_them_holds(text: str, places: list[tuple[int, int]]) -> None:
    cuts = [Cut(min(start, len(text)), min(start + size, len(text))) for start, size in places]
    edited = Edited.of(text, cuts)
    kept = [place for place in range(len(text)) if not any(cut.start <= place < cut.end for cut in cuts)]
    assert edited.text == "".join(text[place] for place in kept)
    assert edited.stretches((place, place + 1) for place in kept) == [(place, place + 1) for place in range(len(kept))]
