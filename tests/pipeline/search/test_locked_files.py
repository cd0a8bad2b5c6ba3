"""Locked files are read instead of a search, whole or by their best sections; excluded documents are never read."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from support.small_set import TEXTS, write_golden

from rag.core.errors import ConfigError, UserError
from rag.core.text.tokens import count
from rag.core.types import Query
from rag.execution.sweep.open_config import config_of, open_config
from rag.pipeline.conversation.session import Session
from rag.pipeline.pipeline import Pipeline
from rag.pipeline.search.locked_files import limited
from rag.pipeline.search.search_filter import Scope, narrowed

GIVEN = ("dataset=native", "dataset.path=golden", "embedder=hashing", "chunker.size=60", "k=2", "check=none")
GUIDE = "# Guide\n\n" + "".join(
    f"## Topic {name}\n\n{name} is kept in box {number}. {'Nothing else is said of it here. ' * 4}\n\n"
    for number, name in enumerate(("Anchors", "Buoys", "Cables", "Dinghies", "Engines", "Flares"), 1)
)


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pipeline]:
    folder = tmp_path_factory.mktemp("locked")
    write_golden(folder / "golden")
    (folder / "golden" / "documents" / "guide.md").write_text(GUIDE, "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        yield open_config(config_of([*GIVEN]))


def shown(pipeline: Pipeline, question: str) -> tuple[list[str], str]:
    """The texts of the passages for a question, and the last message of its prompt."""
    query = Query("q", question)
    prepared = pipeline.prepare(query, pipeline.trace(query))
    assert prepared.request is not None
    return [chunk.text for chunk in prepared.chunks], prepared.request.messages[-1].content


@pytest.mark.parametrize(("lock", "names"), [(["bus.md"], ["bus.md"]), (["winter.md", "*us.md"], ["winter.md", "bus.md"])])
def test_files_that_fit_are_read_whole_in_their_order(pipeline: Pipeline, lock: list[str], names: list[str]) -> None:
    texts, prompt = shown(limited(pipeline, lock, ()), "When do flares burn?")
    assert texts == [TEXTS[name] for name in names]
    assert "[…" not in prompt


def test_a_file_that_is_too_large_has_its_best_section_and_marks_with_the_headings_of_the_others(pipeline: Pipeline) -> None:
    tight = replace(pipeline, reading=replace(pipeline.reading, context_tokens=120))
    texts, prompt = shown(limited(tight, ["guide.md"], ()), "In which box are dinghies kept?")
    assert any("Dinghies is kept in box 4." in text for text in texts)
    assert sum(map(count, texts)) <= 120
    whole = "\n".join(texts)
    for name in ("Anchors", "Buoys", "Cables", "Engines", "Flares"):
        assert f"Topic {name}" in whole or any(f"Topic {name}" in part.partition("…]")[0] for part in prompt.split("[…")[1:])
    assert all(text in GUIDE for text in texts)


def test_documents_that_are_off_are_not_found_and_not_named(pipeline: Pipeline) -> None:
    without = limited(pipeline, (), ["ferry.md", "w*.md"])
    found = {hit.chunk.span.doc_id for hit in without.contexts(without.trace(Query("q", "When does the ferry leave?")))}
    assert found
    assert not found & {"ferry.md", "winter.md"}
    for scope in (Scope(whole=("ferry.md",)), Scope(documents=("ferry.md",))):
        with pytest.raises(UserError, match=r"no document 'ferry\.md'"):
            narrowed(without, scope)


@pytest.mark.parametrize(
    ("lock", "exclude", "match"),
    [
        (["fery.md"], [], r"lock: there is no document 'fery\.md'[\s\S]*ferry\.md"),
        ([], ["z*"], "exclude: there is no document"),
        (["bus.md"], ["bus.md"], "lock: there is no document"),
    ],
)
def test_names_without_a_document_are_refused(pipeline: Pipeline, lock: list[str], exclude: list[str], match: str) -> None:
    with pytest.raises(ConfigError, match=match):
        limited(pipeline, lock, exclude)


def test_a_pinned_document_cannot_be_off(pipeline: Pipeline) -> None:
    bus = next(document for document in pipeline.corpus.documents if document.doc_id == "bus.md")
    with pytest.raises(ConfigError, match=r"pinned: 'bus\.md' is excluded"):
        limited(replace(pipeline, reading=replace(pipeline.reading, pinned=(bus,))), (), ["bus.md"])


def test_a_session_locks_and_unlocks(pipeline: Pipeline) -> None:
    session = Session(pipeline)
    session.limit(["bus.md"], [])
    assert [hit.chunk.text for hit in session.ask("When?").answer.contexts] == [TEXTS["bus.md"]]
    session.limit([], [])
    assert session.pipeline is pipeline
