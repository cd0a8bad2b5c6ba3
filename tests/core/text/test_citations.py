"""Markers become citations, unless no context has their number."""

import tracemalloc
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rag.core.text.citations
from rag.core.text.citations import Marker, bracketed, citations, cited, cited_sentences, markers, to_nothing, unmarked
from rag.core.types import Chunk, Hit, Span

MARKED = st.text(alphabet="[]12, ;x.A\n`(")


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("Yes [1].", (1,)),
        ("Yes [3][1], no [ 3 ; 2 ].", (3, 1, 2)),
        ("Yes [0], [4], [-1], [1.5], [x], (2), [], [1 2].", ()),
        ("Yes [" + "9" * 5000 + "].", ()),
        ("Take `rows[1]`, or ``rows[2]``.\n```\nrows[3]\n```\nDone [2].", (2,)),
        ("See [1](https://example.org).", ()),
        ("Yes [1-3], no [2 – 2], and [3-1].", (1, 2, 3)),
        ("Yes [Source 2] and [sources 1, 3].", (2, 1, 3)),
        ("As of [2019], [1-2-3] and [item 1].", ()),
        ("Yes 【1†source】, and 【2†L3-L5】.", (1, 2)),
        ("Yes[^2].\n\n[^2]: The handbook", (2,)),
        ("The notice is a month (3). It begins today. (1)(2)", (3, 1, 2)),
        ("Within five (5) days, by (1) post (2).", ()),
        ("Within five (3).", ()),
        ("(1) Ask.\n(2) Wait (2).", ()),
        ("By Article 6 (2), as of (2019), f(1) is (9).", ()),
        ("The pattern is `[^2]`. It holds (1).", ()),
        ("", ()),
    ],
)
def test_markers(text: str, numbers: tuple[int, ...]) -> None:
    assert cited(bracketed(text, 3), 3) == numbers


@given(MARKED, st.integers(0, 5))
def test_only_contexts_are_cited_and_none_twice(text: str, contexts: int) -> None:
    numbers = cited(text, contexts)
    assert set(numbers) <= set(range(1, contexts + 1))
    assert len(set(numbers)) == len(numbers)


def attributed(text: str) -> list[tuple[str, tuple[int, ...]]]:
    return [(text[one.start : one.end], one.cites(9)) for one in cited_sentences(text)]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("It leaves at seven [1]. It costs nine [2].", [("It leaves at seven [1].", (1,)), ("It costs nine [2].", (2,))]),
        ("It leaves at seven. [1] It costs nine. [2, 3]", [("It leaves at seven.", (1,)), ("It costs nine.", (2, 3))]),
        ("It leaves at seven.[1] It costs nine.[2]", [("It leaves at seven.", (1,)), ("It costs nine.", (2,))]),
        ("[1] says so. And more.", [("says so.", (1,)), ("And more.", ())]),
        ("# Fares [4]\n- Dogs [1]\n2. Cats [2]", [("Dogs", (1,)), ("Cats", (2,))]),
        ("It leaves at seven.\n\n[1]\n\nIt costs nine.", [("It leaves at seven.", (1,)), ("It costs nine.", ())]),
        ("One [2] and two [2][1].", [("One [2] and two [2][1].", (2, 1))]),
        ("[1]", []),
        ("", []),
    ],
)
def test_sentences_have_the_markers_in_them_and_directly_behind_them(text: str, sentences: object) -> None:
    assert attributed(text) == sentences


@given(MARKED)
def test_every_marker_but_those_of_headings_has_one_sentence(text: str) -> None:
    found = cited_sentences(text)
    owned = [marker for one in found for marker in one.markers]
    assert len(owned) == len(set(owned))
    if found and text[found[0].start : found[0].end]:
        assert {marker for marker in markers(text) if marker.start >= found[0].start} <= set(owned)
    assert all(one.end <= two.start for one, two in pairwise(found))


@given(MARKED)
def test_blanking_markers_keeps_offsets(text: str) -> None:
    plain = unmarked(text)
    assert len(plain) == len(text)
    assert all(new in (old, " ") for old, new in zip(text, plain, strict=True))


def test_markers_keep_their_valid_numbers() -> None:
    text = "Yes [1]. No [1, 9]. So [8]."
    assert to_nothing(text, 2) == [(Marker(12, 18, ((1, 1), (9, 9))), "[1]"), (Marker(22, 26, ((8, 8),)), "")]
    assert to_nothing(text, 9) == []


def test_a_citation_knows_its_context_its_place_and_its_sentence() -> None:
    contexts = tuple(Hit(Chunk(Span("d", start, start + 5), "12345"), 1.0) for start in (0, 10))
    text = "Yes [2]. No [1, 2, 3]."
    found = citations(text, contexts)
    assert [one.quote for one in found] == [one.span for one in found], "nothing is shared: the whole passage"
    assert [(one.number, one.span, text[one.start : one.end], one.sentence) for one in found] == [
        (2, Span("d", 10, 15), "[2]", (0, 8)),
        (1, Span("d", 0, 5), "[1, 2, 3]", (9, 22)),
        (2, Span("d", 10, 15), "[1, 2, 3]", (9, 22)),
    ]


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30) | st.just(999)), min_size=1, max_size=4), st.integers(0, 20))
def test_ranges_have_the_numbers_between_their_ends(parts: list[tuple[int, int]], contexts: int) -> None:
    (marker,) = markers(f"[{', '.join(f'{first}-{last}' for first, last in parts)}]")
    named = [number for first, last in parts for number in range(first, max(first, last) + 1)]
    assert list(marker.numbers(contexts)) == [number for number in named if 1 <= number <= contexts]
    beyond = [list(map(int, text.split("-"))) for text in marker.beyond(contexts)]
    spelt = [number for ends in beyond for number in range(ends[0], ends[-1] + 1)]
    assert spelt == [number for number in named if not 1 <= number <= contexts]


def test_markers_take_room_by_their_length_and_not_by_their_ranges() -> None:
    text = "Yes" + "[1-999]" * 1000
    contexts = tuple(Hit(Chunk(Span("d", start, start + 5), "12345"), 1.0) for start in (0, 10))
    tracemalloc.start()
    try:
        assert cited(text, 2) == (1, 2)
        assert len(to_nothing(text, 2)) == 1000
        assert len(citations(text, contexts)) == 2000
        assert tracemalloc.get_traced_memory()[1] < 200 * len(text)
    finally:
        tracemalloc.stop()


def test_the_words_of_a_citation_are_searched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = []
    found = rag.core.text.citations.quoted
    monkeypatch.setattr(rag.core.text.citations, "quoted", lambda plain, chunk: looked.append(plain) or found(plain, chunk))
    contexts = tuple(Hit(Chunk(Span("d", start, start + 5), "12345"), 1.0) for start in (0, 10, 20))
    assert len(citations("Yes " + "[1-3]" * 100 + ". No [2].", contexts)) == 301
    assert len(looked) == 4
