"""Locked files are read instead of a search, whole or by their best sections; excluded documents are never read."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from support.small_set import TEXTS, write_golden

from rag.core.errors import ConfigError, UserError
from rag.core.text.tokens import count
from rag.core.types import Document, Query
from rag.execution.sweep.open_config import config_of, open_config
from rag.pipeline.conversation.session import Session
from rag.pipeline.pipeline import Pipeline
from rag.pipeline.search.locked_files import limited, proposed, read_whole
from rag.pipeline.search.search_filter import Scope, narrowed

GIVEN = ("dataset=native", "dataset.path=golden", "embedder=hashing", "chunker.size=60", "k=2", "check=none")
GUIDE = "# Guide\n\n" + "".join(
    f"## Topic {name}\n\n{name} is kept in box {number}. {'Nothing else is said of it here. ' * 4}\n\n"
    for number, name in enumerate(("Anchors", "Buoys", "Cables", "Dinghies", "Engines", "Flares"), 1)
)
CODE = ("src/controller.py", "src/init.py", "lib/init.py", "lib/big pump.py")


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pipeline]:
    folder = tmp_path_factory.mktemp("locked")
    write_golden(folder / "golden")
    (folder / "golden" / "documents" / "guide.md").write_text(GUIDE, "utf-8")
    for name in CODE:
        (folder / "golden" / "documents" / name).parent.mkdir(exist_ok=True)
        (folder / "golden" / "documents" / name).write_text(f"def {name[0]}() -> int:\n    return 7\n", "utf-8")
    (folder / "golden" / "documents" / "blob.py").write_bytes(b"\xff\xfe\x00binary")
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
    bus = next(document for document in pipeline.corpus.documents if document.doc_id == "bus.md")
    with pytest.raises(ConfigError, match=r"pinned: 'bus\.md' is excluded"):
        limited(replace(pipeline, reading=replace(pipeline.reading, pinned=(bus,))), (), ["bus.md"])


@pytest.mark.parametrize(
    ("lock", "exclude", "match"),
    [
        (["fery.md"], [], r"lock: there is no document 'fery\.md'[\s\S]*ferry\.md"),
        ([], ["z*"], "exclude: there is no document"),
        (["bus.md"], ["bus.md"], "lock: there is no document"),
        (["src"], [], r"lock: 'src' is a folder\n.*its files: 'src/\*'"),
        (["init.py"], [], r"lock: 2 files are named 'init\.py'\n.*lib/init\.py, src/init\.py"),
        (["/etc/passwd"], [], r"lock: '/etc/passwd' is outside of the documents"),
    ],
)
def test_names_without_a_document_are_refused(pipeline: Pipeline, lock: list[str], exclude: list[str], match: str) -> None:
    with pytest.raises(ConfigError, match=match):
        limited(pipeline, lock, exclude)


def test_a_code_file_is_read_whole_by_its_name_in_the_layer_of_files(pipeline: Pipeline) -> None:
    layered = open_config(config_of([*GIVEN, "prompt=layered", "lock=[controller.py]"]))
    texts, prompt = shown(layered, "What does it return?")
    code = "```py\ndef s() -> int:\n    return 7\n```"
    assert [text.strip() for text in texts] == [f"# def s\n\n{code}"]
    assert prompt.index("File src/controller.py:\n[1] ") < prompt.index(code) < prompt.index("Sources:\n\n(none)")


def test_files_that_are_not_read_or_too_large_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"lock: 'blob\.py' is no document: is not UTF-8"):
        open_config(config_of([*GIVEN, "lock=[blob.py]"]))
    large = Document("large.log", "a line\n" * 150_000)
    with pytest.raises(ConfigError, match=r"lock: the files have 1,050,000 characters, and a prompt at most 1,000,000\n"):
        read_whole([large], None)
    assert not read_whole([large], 8000)


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("Why does Controller.py return 7?", ["src/controller.py"]),
        ("Does `src/init.py` differ from lib/init.py.", ["lib/init.py", "src/init.py"]),
        ("What is in init.py, and in big pump.py?", ["lib/big pump.py", "lib/init.py", "src/init.py"]),
        ("Is the controller in my-controller.py, controller.py.bak, controller.pyc or other/controller.py?", []),
    ],
)
def test_files_are_proposed_by_their_whole_names(pipeline: Pipeline, question: str, names: list[str]) -> None:
    assert sorted(proposed(pipeline, question)) == names
    assert proposed(limited(pipeline, names, ()), question) == []
    assert not set(proposed(limited(pipeline, (), ["src/*"]), question)) & set(CODE[:2])


def test_a_session_locks_and_unlocks_and_no_question_is_far_from_a_locked_file(pipeline: Pipeline) -> None:
    checked = open_config(config_of([*GIVEN, "check=[off_topic,retrieval_floor]", "check.off_topic.floor=1"]))
    session, far = Session(checked), "Which planet has rings?"
    assert session.ask(far).answer.abstained
    session.limit(["controller.py"])
    answer = session.ask(far).answer
    assert {hit.chunk.span.doc_id for hit in answer.contexts} == {"src/controller.py"}
    assert [each for each in answer.findings if each.action == "abstain"] == []
    assert session.ask("Thanks!").answer.input == "pleasantry"
    session.limit()
    assert session.pipeline is checked
