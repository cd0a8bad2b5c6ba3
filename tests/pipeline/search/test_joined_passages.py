"""Chunks that a selector joins are one passage: to screens, in prompts, in answers and in every list of passages."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.passages_read import corpus_of

from rag.components.selectors.neighbours import NeighboursSelector
from rag.components.selectors.parents import ParentsSelector
from rag.core.corpus import Corpus
from rag.core.rankings import Rankings
from rag.core.text.citations import citations
from rag.core.text.tokens import count
from rag.core.types import Finding, Query, Ranking
from rag.execution.sweep.open_config import config_of, open_config
from rag.pipeline.prompt.context_packing import Passage, hits, pack, passages, shown_chunks
from rag.pipeline.prompt.excerpts import Excerpts
from rag.pipeline.prompt_preview import prompted
from rag.pipeline.shapes.answer_json import answer_json, found_passages
from rag.pipeline.shapes.passage_fates import passage_fates

GIVEN = [
    "dataset=native",
    "dataset.path=../golden",
    "loader.path=../golden/documents",
    "embedder=hashing",
    "chunker=sentence",
    "chunker.sentences=1",
    "chunker.step=1",
    "index=[bm25s]",
    "fusion=single",
    "selector=parents",
    "k=3",
]
TEXT = "one two\n\nsix ten\nred sea\n"
CORPUS = corpus_of(TEXT, [0, 9, 17, 25])


def joined(*ranks: int, at: Sequence[int] = (), flags: Sequence[bool] = ()) -> Rankings:
    positions = np.array([at or range(len(ranks))], np.int32)
    flagged = np.array([flags or [True] * len(ranks)])
    return Rankings(positions, 1 / np.array([ranks]), np.array([ranks], np.int32), flagged)


def texts(rankings: Rankings, corpus: Corpus = CORPUS) -> list[str]:
    return [passage.chunk(corpus).text for passage in passages(rankings, 0, corpus)]


def test_joined_chunks_of_one_rank_that_touch_are_one_passage() -> None:
    assert texts(joined(1, 1, 1, at=[1, 0, 2])) == [TEXT]
    assert passages(joined(1, 1, 1, at=[1, 0, 2]), 0, CORPUS) == [Passage((1, 0, 2), 1, 1.0)]
    assert texts(joined(1, 1, 2)) == ["one two\n\nsix ten\n", "red sea\n"], "another rank is another passage"
    assert texts(joined(1, 1, at=[2, 0])) == ["red sea\n", "one two\n\n"], "there is a gap"
    assert texts(joined(1, 1, 1, flags=[True, True, False])) == ["one two\n\nsix ten\n", "red sea\n"]
    assert texts(joined(1, 1, 1).within(np.array([True, False, True]))) == ["one two\n\n", "red sea\n"]


def test_neighbours_of_a_section_are_sources_of_their_own() -> None:
    text = "".join(f"line {number}.\n" for number in range(9))
    corpus = corpus_of(text, list(range(0, len(text) + 1, 8)))
    ranked = Rankings.pack([[(4, 1.0)]])
    around = NeighboursSelector().select(ParentsSelector(25).select(ranked, corpus), corpus)
    assert texts(around, corpus) == [text[24:48], text[16:24], text[48:56]]
    within = ParentsSelector(25).select(NeighboursSelector(0, 1).select(ranked, corpus), corpus)
    assert texts(within, corpus) == [text[24:56]], "a section is read around each chunk, and they touch"


class Scan:
    """Quarantines passages with `two six`, as far as white space does not matter."""

    def screen(self, queries: Sequence[Query], contexts: Sequence[Ranking]) -> list[list[Finding]]:
        return [
            [
                Finding("scan", "holds it", "quarantine", number)
                for number, hit in enumerate(row, 1)
                if "two six" in " ".join(hit.chunk.text.split())
            ]
            for row in contexts
        ]


def test_a_screen_reads_what_is_shown() -> None:
    (split,) = Excerpts(3, screens={"scan": Scan()}).screen([Query("q", "?")], joined(1, 2, 3), CORPUS)
    assert (len(split.kept), split.findings) == (3, ())
    (whole,) = Excerpts(3, screens={"scan": Scan()}).screen([Query("q", "?")], joined(1, 1, 2), CORPUS)
    assert [passage.positions for passage in whole.kept] == [(2,)]
    assert [(one.context, one.passage) for one in whole.findings] == [(0, "d:0-17")]


def test_a_passage_without_room_is_read_around_its_hit() -> None:
    found = passages(joined(1, 1, 1, at=[2, 0, 1]), 0, CORPUS)
    assert [pack(found, CORPUS, tokens).texts for tokens in (1, 2, 3, 4, 5, 6)] == [
        ("red",), ("red sea\n",), ("red sea\n",), ("six ten\nred sea\n",), ("six ten\nred sea\n",), (TEXT,),
    ]  # fmt: skip
    more = passages(joined(1, 1, 2), 0, CORPUS)
    assert [pack(more, CORPUS, tokens).left_out for tokens in (3, 4, 6)] == [((2, 0.5),), ((2, 0.5),), ()]
    first = passages(joined(1, 1, 1), 0, CORPUS)
    assert pack(first, CORPUS, 3).texts == ("one two\n\nsix",), "a chunk behind the hit is cut"


@given(st.permutations(range(6)), st.lists(st.integers(1, 3), min_size=6, max_size=6), st.integers(1, 14), st.integers(0, 9))
@settings(max_examples=100)
def test_packed_passages_are_spans_of_their_document(at: list[int], ranks: list[int], tokens: int, more: int) -> None:
    corpus = corpus_of("red " * 12, list(range(0, 49, 8)))
    found = passages(joined(*sorted(ranks), at=at), 0, corpus)
    packed = pack(found, corpus, tokens)
    assert sorted(position for passage in found for position in passage.positions) == list(range(6))
    assert 0 < sum(map(count, packed.texts)) <= tokens
    ends = [chunk.span.end for chunk in packed.chunks]
    assert [hit.chunk for hit in hits(corpus, packed.read, ends)] == list(packed.chunks)
    shown = {
        position for (start, _), end in zip(packed.read, ends, strict=True) for position in shown_chunks(corpus, start, end)
    }
    without = {min(passage.positions) for passage in found if shown.isdisjoint(passage.positions)}
    assert {start for start, _ in packed.left_out} == without
    assert found[0].positions[0] in shown, "the best hit is read"
    wider = pack(found, corpus, tokens + more)
    assert {place for one in packed.chunks for place in range(one.span.start, one.span.end)} <= {
        place for one in wider.chunks for place in range(one.span.start, one.span.end)
    }


@pytest.mark.usefixtures("here", "golden")
@pytest.mark.parametrize("more", [[], ["context_tokens=6"]])
def test_all_lists_number_passages_alike(more: list[str]) -> None:
    opened = open_config(config_of([*GIVEN, *more]))
    query = Query("q", "When does the ferry to Holm leave?")
    trace = opened.trace(query)
    answer = opened.answer_from(query, trace)
    found = found_passages(opened.corpus, trace, opened.k)
    plain = open_config(config_of([*GIVEN, "selector=none"]))
    assert len(found[0]["text"]) > len(plain.corpus.text(trace.fused.row(0)[0][0]))
    assert [one["number"] for one in found] == list(range(1, len(found) + 1))
    assert found[0]["steps"]["fused"]["rank"] == found[0]["steps"]["selected"]["rank"] == 1
    assert [hit.chunk.chunk_id for hit in opened.contexts(trace)] == [one["chunk"] for one in found]
    said = answer_json(answer, trace.sought, opened.corpus)
    for context, hit in zip(said["contexts"], answer.contexts, strict=True):
        document = next(one for one in opened.corpus.documents if one.doc_id == context["doc_id"])
        assert document.text[context["start"] : context["end"]] == context["text"] == hit.chunk.text
    for citation in citations(answer.reply.text, answer.contexts):
        span = answer.contexts[citation.number - 1].chunk.span
        assert span.start <= citation.quote.start < citation.quote.end <= span.end
    preview = prompted(opened, query)
    assert [one["chunk"] for one in preview["contexts"]] == [one["chunk"] for one in said["contexts"]]
    assert [one["chunk"] for one in preview["left_out"]] == [one["chunk"] for one in found[len(answer.contexts) :]]
    assert preview["contexts"][0]["of"] == count(found[0]["text"])
    for fate in passage_fates(opened, trace, answer):
        for number, hit in enumerate(answer.contexts, 1):
            span = hit.chunk.span
            inside = span.doc_id == fate["doc_id"] and span.start <= fate["start"] and fate["end"] <= span.end
            assert not inside or fate["number"] == number
        assert fate["kept"] or fate["number"] is None
