"""A scope restricts what is found before anything is cut off: documents, sections, tags, characters, whole documents."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.small_set import write_golden

from rag.core.corpus import Corpus
from rag.core.errors import UserError
from rag.core.records.database import RecordDatabase
from rag.core.records.sets import Field, Record, RecordSet, RecordTable
from rag.core.types import Document, Query, Span
from rag.execution.sweep.open_config import config_of, open_config
from rag.pipeline.pipeline import Pipeline, Trace
from rag.pipeline.search.search_filter import EVERYTHING, Scope, narrowed
from rag.pipeline.search.steps import chunk

GIVEN = ("dataset=native", "dataset.path=golden", "embedder=hashing", "chunker.size=60", "k=3", "generator=extractive")
CHOICES = {
    "fused": ("index=[bm25s,dense]", "fusion=rrf"),
    "weighted": ("index=[bm25,faiss_flat]", "fusion=weighted", "selector=neighbours"),
    "reranked": ("index=[bm25s,dense]", "reranker=mmr", "rerank_depth=5"),
    "floored": ("index=[dense]", "fusion=single", "selector=score_floor", "selector.score_floor.floor=0.05"),
    "graph": ("index=[faiss_hnsw]", "fusion=single"),
    "carried": ("index=[bm25s,dense]", "queries=carry_over"),
}
QUESTIONS = ["When does the ferry leave?", "What does a ticket cost?", "Do dogs pay?", "the", "zzz"]
Opened = Callable[[str], Pipeline]


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opened]:
    """Pipelines over the small golden set, by a name of CHOICES."""
    folder = tmp_path_factory.mktemp("scopes")
    write_golden(folder / "golden")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        known = {name: open_config(config_of([*GIVEN, *choice])) for name, choice in CHOICES.items()}
        yield known.__getitem__


def ids(pipeline: Pipeline, trace: Trace) -> list[str]:
    return [hit.chunk.chunk_id for hit in pipeline.contexts(trace)]


def found(pipeline: Pipeline, question: str, scope: Scope) -> list[str]:
    inside = narrowed(pipeline, scope)
    return ids(inside, inside.trace(Query("q", question)))


def test_no_restriction_is_the_pipeline_itself(opened: Opened) -> None:
    pipeline = opened("fused")
    assert narrowed(pipeline, EVERYTHING) is pipeline


# Documents


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("documents", [("bus.md",), ("winter.md", "rules.txt"), ()])
def test_only_these_documents_are_found(opened: Opened, choice: str, documents: tuple[str, ...]) -> None:
    pipeline, scope = opened(choice), Scope(documents=documents)
    some = 0
    for question in QUESTIONS:
        inside = narrowed(pipeline, scope)
        trace = inside.trace(Query("q", question))
        for rankings in (*trace.indexes.values(), trace.fused, trace.reranked, trace.selected):
            names = {inside.corpus.chunk(position).span.doc_id for position, _ in rankings.row(0)}
            assert names <= set(documents)
            some += len(names)
    assert bool(some) == bool(documents)


@pytest.mark.parametrize("choice", ["fused", "floored"])
@settings(max_examples=30, deadline=None)
@given(st.sets(st.sampled_from(["bus.md", "ferry.md", "rules.txt", "winter.md"])), st.sampled_from(QUESTIONS))
def test_an_index_ranks_as_it_would_without_the_other_documents(
    opened: Opened, choice: str, documents: set[str], question: str
) -> None:
    pipeline = opened(choice)
    free = pipeline.trace(Query("q", question))
    inside = narrowed(replace(pipeline, depth=2), Scope(documents=tuple(documents))).trace(Query("q", question))
    for name, ranking in inside.indexes.items():
        rest = [hit for hit in free.indexes[name].row(0) if pipeline.corpus.chunk(hit[0]).span.doc_id in documents]
        assert ranking.row(0) == rest[:2], "before the depth, not behind it"


# Sections


SECTIONED = Document(
    "guide.md",
    "Before all.\n\n# Leave\n\nLeave is long.\n\n## Sick\n\nSick leave is paid.\n\n"
    "## Annual\n\nAnnual leave is too.\n\n# Pay\n\nPay.",
)


class Halves:
    """Chunks of 40 characters, every 20 characters."""

    def chunk(self, document: Document) -> list[Span]:
        size = len(document.text)
        return [Span(document.doc_id, start, min(start + 40, size)) for start in range(0, size, 20)]


@pytest.fixture(scope="module")
def sectioned(opened: Opened) -> Pipeline:
    """A pipeline over two documents in overlapping chunks, which cross the borders of sections."""
    pipeline = opened("fused")
    documents = [SECTIONED, Document("other.md", "# Leave\n\nLeave elsewhere is short and unpaid, they say.", {"year": 2024})]
    corpus = chunk(Halves(), documents)
    return over(pipeline, corpus)


def over(pipeline: Pipeline, corpus: Corpus) -> Pipeline:
    from rag.components.analysers.words import WordAnalyser
    from rag.components.indexes.bm25 import Bm25Index
    from rag.components.indexes.faiss_flat import FaissFlatIndex
    from rag.pipeline.search.steps import embed_documents

    vectors, bm25 = embed_documents(pipeline.embedder, corpus.texts), Bm25Index(WordAnalyser())
    searchers = {
        "bm25s": bm25.open(bm25.build(corpus.texts, None)),
        "dense": FaissFlatIndex().open(FaissFlatIndex().build(corpus.texts, vectors)),
    }
    return replace(pipeline, corpus=corpus, searchers=searchers, reading=replace(pipeline.reading, k=50))


@pytest.mark.parametrize(
    ("names", "documents", "expected"),
    [
        (("Sick",), None, ["guide.md", "## Sick\n\nSick leave is paid.\n\n"]),
        (("Leave > Sick",), None, ["guide.md", "## Sick\n\nSick leave is paid.\n\n"]),
        (("Leave",), ("guide.md",), ["guide.md", SECTIONED.text[13 : SECTIONED.text.index("# Pay")]]),
        (("",), None, ["guide.md", "Before all.\n\n"]),
        (("Pay",), None, ["guide.md", "# Pay\n\nPay."]),
    ],
)
def test_passages_end_at_the_edges_of_a_section(
    sectioned: Pipeline, names: tuple[str, ...], documents: tuple[str, ...] | None, expected: list[str]
) -> None:
    doc_id, text = expected
    inside = narrowed(sectioned, Scope(sections=names, documents=documents))
    trace = inside.trace(Query("q", "What of leave and pay and all?"))
    chunks = [hit.chunk for hit in inside.contexts(trace)]
    assert chunks
    assert {one.span.doc_id for one in chunks} == {doc_id}
    start = SECTIONED.text.index(text)
    assert all(start <= one.span.start and one.span.end <= start + len(text) for one in chunks)
    assert all(one.text == SECTIONED.text[one.span.start : one.span.end] for one in chunks)
    assert all(
        any(name in one.section.split(" > ") or one.section == name for name in names)
        for one in chunks
        if names != ("Leave > Sick",)
    )
    covered = {place for one in chunks for place in range(one.span.start, one.span.end)}
    missing = set(range(start, start + len(text))) - covered
    assert all(SECTIONED.text[place].isspace() for place in missing), "all of the section can be found"
    assert len({one.chunk_id for one in chunks}) == len(chunks)


def test_a_heading_is_no_part_of_a_word(sectioned: Pipeline) -> None:
    with pytest.raises(UserError, match="no section 'Sic'") as caught:
        narrowed(sectioned, Scope(sections=("Sic",)))
    assert caught.value.where == "within.sections"
    assert "'Sick'" in caught.value.remedy


# Characters


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_only_what_was_selected_is_read(sectioned: Pipeline, data: st.DataObject) -> None:
    size = len(SECTIONED.text)
    start = data.draw(st.integers(0, size - 1))
    end = data.draw(st.integers(start + 1, size))
    inside = narrowed(sectioned, Scope(range=Span("guide.md", start, end)))
    chunks = [hit.chunk for hit in inside.contexts(inside.trace(Query("q", "leave pay sick annual before all is too")))]
    spans = [one.span for one in chunks]
    assert all(span.doc_id == "guide.md" and start <= span.start < span.end <= end for span in spans)
    assert len(set(spans)) == len(spans)
    assert all(one.text == SECTIONED.text[one.span.start : one.span.end] and one.text.strip() for one in chunks)
    covered = {place for span in spans for place in range(span.start, span.end)}
    assert all(SECTIONED.text[place].isspace() for place in set(range(start, end)) - covered)


def test_a_selection_and_a_section_must_both_hold(sectioned: Pipeline) -> None:
    sick = SECTIONED.text.index("## Sick")
    scope = Scope(range=Span("guide.md", sick - 10, sick + 20), sections=("Sick",), documents=("guide.md",))
    inside = narrowed(sectioned, scope)
    spans = [hit.chunk.span for hit in inside.contexts(inside.trace(Query("q", "leave sick")))]
    assert spans
    assert all(sick <= span.start and span.end <= sick + 20 for span in spans)
    nowhere = narrowed(sectioned, replace(scope, documents=("other.md",)))
    assert nowhere.contexts(nowhere.trace(Query("q", "leave sick"))) == ()


@pytest.mark.parametrize("span", [("guide.md", 5, 5), ("guide.md", 7, 3), ("guide.md", 0, 10_000), ("guide.md", -1, 3)])
def test_characters_that_are_not_there_are_refused(sectioned: Pipeline, span: tuple[str, int, int]) -> None:
    with pytest.raises(UserError, match=r"is not a range of 'guide\.md'"):
        narrowed(sectioned, Scope(range=Span(*span)))
    with pytest.raises(UserError, match="no document 'x'"):
        narrowed(sectioned, Scope(range=Span("x", 0, 1)))


# Whole documents


def test_nothing_is_searched_for_whole_documents(opened: Opened) -> None:
    class Never:
        def search(self, *args: object) -> None:
            raise AssertionError("searched")

        rewrite = embed_queries = search

    pipeline = replace(opened("fused"), searchers={"never": Never()}, queries=Never(), embedder=Never())  # type: ignore[arg-type]
    assert found(pipeline, "ferry", Scope(whole=("ferry.md",))) == [f"ferry.md:0-{len(pipeline.corpus.documents[1].text)}"]


def test_whole_documents_stand_alone(opened: Opened) -> None:
    others = (Scope(documents=("bus.md",)), Scope(sections=("Bus",)), Scope(metadata={}), Scope(range=Span("bus.md", 0, 3)))
    for other in others:
        with pytest.raises(UserError, match="is given with another"):
            narrowed(opened("fused"), replace(other, whole=("bus.md",)))


# Pinned documents


def test_pinned_documents_stay_where_they_may_be_read_whole(opened: Opened) -> None:
    pipeline = opened("fused")
    pins = tuple(document for document in pipeline.corpus.documents if document.doc_id in ("bus.md", "ferry.md"))
    pipeline = replace(pipeline, reading=replace(pipeline.reading, pinned=pins))

    def left(scope: Scope) -> list[str]:
        return [document.doc_id for document in narrowed(pipeline, scope).reading.pinned]

    assert left(EVERYTHING) == ["bus.md", "ferry.md"]
    assert left(Scope(documents=("ferry.md", "rules.txt"))) == ["ferry.md"]
    for scope in (Scope(sections=("Ferry",)), Scope(range=Span("ferry.md", 0, 9)), Scope(whole=("ferry.md",))):
        assert left(scope) == []


# Many questions at once


OWN = RecordTable(
    "documents",
    (Field("status"), Field("year", "number"), Field("tags", "list")),
    (
        Record("bus.md", "bus.md", 0, 3, ("old", 2023, ("road", "town"))),
        Record("ferry.md", "ferry.md", 0, 3, ("current", 2025, None)),
    ),
)
ROWS = RecordTable(
    "fares", (Field("fare", "number"), Field("status")), tuple(Record(f"r{n}", "bus.md", 0, 3, (n, "row")) for n in (2, 4))
)


@pytest.mark.parametrize(
    ("metadata", "found"),
    [
        ({"status": "current"}, {"ferry.md"}),
        ({"status": "row"}, {"bus.md"}),
        ({"status": ["old", "current"], "year": {"from": 2024}}, {"ferry.md"}),
        ({"tags": "town"}, {"bus.md"}),
        ({"fare": {"from": 4, "to": 5}}, {"bus.md"}),
        ({"status": "stated in metadata"}, set()),
    ],
)
def test_fields_of_records_restrict(opened: Opened, metadata: dict[str, Any], found: set[str]) -> None:
    pipeline = opened("fused")
    documents = tuple(replace(each, metadata={"status": "stated in metadata"}) for each in pipeline.corpus.documents)
    own = {"bus.md", "ferry.md"}
    documents = tuple(each if each.doc_id in own else replace(each, metadata={}) for each in documents)
    pipeline = replace(
        pipeline, corpus=replace(pipeline.corpus, documents=documents), database=RecordDatabase(RecordSet((OWN, ROWS)))
    )
    narrower = narrowed(pipeline, Scope(metadata=metadata))
    assert narrower.allowed is not None
    assert {documents[row].doc_id for row in pipeline.corpus.doc[narrower.allowed].tolist()} == found


def test_an_unknown_field_of_records_is_refused(opened: Opened) -> None:
    pipeline = replace(opened("fused"), database=RecordDatabase(RecordSet((OWN, ROWS))))
    with pytest.raises(UserError, match=r"there is no key 'statu'(.|\n)*'status'"):
        narrowed(pipeline, Scope(metadata={"statu": "old"}))
