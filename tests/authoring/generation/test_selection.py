"""The choice of questions by difficulty: neither searches by words nor by vectors are favoured."""

from hypothesis import given
from hypothesis import strategies as st

from rag.authoring.candidates import Candidate
from rag.authoring.generation.pages import AROUND, Page
from rag.authoring.generation.probe import TextVectors, gains
from rag.authoring.generation.selection import ENOUGH, Rated, selected
from rag.components.embedders.hashing import HashingEmbedder
from rag.core.types import Document, Span

GAIN = st.sampled_from([0.0, 0.3, 0.5, 0.63, 1.0])
PAIRS = st.lists(st.tuples(st.sampled_from(["table", "factoid", "topic"]), GAIN, GAIN), max_size=200)


def pool_of(pairs: list[tuple[str, float, float]]) -> dict[str, list[Rated]]:
    pool: dict[str, list[Rated]] = {"table": [], "factoid": [], "topic": []}
    for number, (kind, *both) in enumerate(pairs):
        asked = Candidate(f"Question {number}?", kind, "rule:x", evidence=((Span("a", number, number + 1),),))
        pool[kind].append((asked, *both, min(both) == 1.0))
    return pool


@given(PAIRS, st.integers(1, 150))
def test_the_gains_of_both_searches_have_the_same_sum(pairs: list[tuple[str, float, float]], total: int) -> None:
    pool = pool_of(pairs)
    chosen = selected(pool, {"table": 2, "factoid": 3, "topic": 1}, total)
    assert chosen == selected(pool, {"table": 2, "factoid": 3, "topic": 1}, total)
    assert len({each.text for each in chosen}) == len(chosen) <= min(total, len(pairs))
    rated = {one.text: (words, vectors) for group in pool.values() for one, words, vectors, _ in group}
    lean = abs(sum(words - vectors for words, vectors in (rated[each.text] for each in chosen)))
    assert lean <= 1 + 1e-9 if len(chosen) > ENOUGH else len(chosen) == min(total, len(pairs), ENOUGH)


def test_easy_questions_only_complete_a_small_set() -> None:
    hard = [("factoid", *pair) for pair in [(1.0, 0.0), (0.0, 1.0)] * 60]
    chosen = selected(pool_of(hard + [("table", 1.0, 1.0)] * 300), {"table": 1, "factoid": 1, "topic": 1}, 300)
    easy = sum(each.kind == "table" for each in chosen)
    assert (len(chosen) - easy, len(chosen) > ENOUGH, easy <= 0.36 * len(chosen)) == (120, True, True)
    small = selected(pool_of(hard[:10] + [("table", 1.0, 1.0)] * 300), {"table": 1, "factoid": 1, "topic": 1}, 300)
    assert len(small) == ENOUGH


def test_gains_are_those_of_the_first_place() -> None:
    documents = [
        Document("a", "The lighthouse keeper paints."),
        Document("b", "Rivers flood in spring."),
        Document("c", "Other."),
    ]
    own, both = ((Span("b", 0, 23),),), ((Span("b", 0, 23),), (Span("a", 0, 29),))
    asked = [
        Candidate("Rivers flood in spring.", "factoid", "rule:x", evidence=own),
        Candidate("Rivers flood in spring, and rivers the keeper?", "multi_hop", "rule:x", evidence=both),
        Candidate("Nothing of this?", "factoid", "rule:x", evidence=own),
    ]
    found = gains(asked, documents, "english", TextVectors(HashingEmbedder()))
    assert found[0].tolist() == [1.0, 1.0]
    assert found[1, 0] == 1 / 1.584962500721156  # the second document completes the evidence
    assert found[2, 0] == 0.0


@given(st.lists(st.integers(5, 300), min_size=1, max_size=12), st.data())
def test_the_sentences_around_are_whole_and_bounded(sizes: list[int], data: st.DataObject) -> None:
    sentences = [f"A{number}{'b' * size}." for number, size in enumerate(sizes)]
    text = f"Before.\n\n{' '.join(sentences)}\n\nBehind."
    own = data.draw(st.integers(0, len(sizes) - 1))
    start = text.index(sentences[own])
    found = Page(Document("a", text), "english").around(Span("a", start, start + len(sentences[own])))
    fits = [
        (first, last)
        for first in range(own + 1)
        for last in range(own, len(sizes))
        if first == last or len(" ".join(sentences[first : last + 1])) <= AROUND
    ]
    parts = {" ".join(sentences[first : last + 1]): (first, last) for first, last in fits}
    assert text[found.start : found.end] in parts
    first, last = parts[text[found.start : found.end]]
    assert not {(first - 1, last), (first, last + 1)} & set(fits)
