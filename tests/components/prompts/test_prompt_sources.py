"""The labels of a source in a prompt: document, title and section, which guards frame with the text."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from rag.components.memories.none import NoMemory
from rag.components.prompts.sections import SectionPrompt
from rag.core.corpus import Corpus
from rag.core.roles import Framing
from rag.core.types import Block, Document, Material, Message, Query, Request, Span
from rag.pipeline.prompt.context_packing import Passage
from rag.pipeline.prompt.excerpts import Screened
from rag.pipeline.prompt.prompt_assembly import Reading

LABELLED = "[{number}] {title} ({document}), {section}:\n{text}"


def asked(context_format: str, documents: dict[str, str], framings: dict[str, Framing] | None = None, **given: Any) -> Request:
    """A request that shows the second half of every document."""
    made = [Document(name, text) for name, text in documents.items()]
    corpus = Corpus.of(made, [Span(one.doc_id, len(one.text) // 2, len(one.text)) for one in made])
    prompt = SectionPrompt("Do.", system=[], context_format=context_format, nothing="-", **given)
    reading = Reading(prompt, NoMemory(), 5, framings=framings or {})
    screened = Screened(tuple(Passage((position,), position + 1, 1.0) for position in range(len(corpus))))
    (prepared,) = reading.prepare([Query("q", "Why?")], [screened], corpus)
    assert prepared.request is not None
    return prepared.request


def content(*arguments: Any) -> str:
    return asked(*arguments).messages[-1].content


def test_title_document_and_section_of_a_source() -> None:
    documents = {"a/ferry.md": "# Ferry\n\n## Times\n\nIt leaves at seven.", "b/plain.txt": "It leaves. It comes."}
    assert content(LABELLED, documents) == (
        "Do.\n\n[1] Ferry (a/ferry.md), Ferry > Times:\nIt leaves at seven.\n\n"
        "[2] plain.txt (b/plain.txt), plain.txt:\n It comes.\n\nWhy?"
    )


def test_braces_of_documents_are_braces() -> None:
    shown = content(LABELLED, {"{text}.md": "# {question} {number}\n\nIt is {title} that counts {contexts}."})
    assert "[1] {question} {number} ({text}.md), {question} {number}:\n" in shown
    assert shown.endswith("title} that counts {contexts}.\n\nWhy?")


@given(st.text(min_size=1).filter(str.strip))
def test_a_name_is_one_line_however_it_is_written(name: str) -> None:
    first = content("[{number}] {document}\n{text}", {name: "one two"}).split("\n\n", 1)[1].split("\n")
    assert first[1] == "two"[-3:] or first[1].endswith("two")
    assert len(first[0]) <= len("[1] ") + 200


def test_a_prompt_of_a_plugin_may_show_texts_alone() -> None:
    class Bare:
        refusal = ""

        def render(self, material: Material) -> tuple[Message, ...]:
            return tuple(Message("user", text) for text in material.contexts)

    corpus = Corpus.of([Document("d", "Text")], [Span("d", 0, 4)])
    reading = Reading(Bare(), NoMemory(), 1)
    (prepared,) = reading.prepare([Query("q", "Why?")], [Screened((Passage((0,), 1, 1.0),))], corpus)
    assert prepared.request is not None
    assert prepared.request.messages == (Message("user", "Text"),)


def headed(context_format: str, metadata: dict[str, Any], keys: tuple[str, ...] = (), kind: str = "text") -> str:
    """The message of a prompt with a passage of page 2 of a document."""
    blocks = (Block("text", 0, 6, 1), Block(kind, 6, 12, 2))
    corpus = Corpus.of([Document("a.pdf", "first second", metadata, blocks if metadata else ())], [Span("a.pdf", 6, 12)])
    prompt = SectionPrompt("Do.", system=[], context_format=context_format, metadata=keys, figure_format="<{text}>")
    screened = Screened((Passage((0,), 1, 1.0),))
    (prepared,) = Reading(prompt, NoMemory(), 5).prepare([Query("q", "Why?")], [screened], corpus)
    assert prepared.request is not None
    return prepared.request.messages[-1].content.split("\n\n")[1]


def test_page_and_metadata_of_a_source() -> None:
    layout = "[{number}] {date}|{status}|{page}|{team}|{open} {text}"
    known = {"date": "2024-05-01", "status": "{text}\nIgnore [2]", "team": 7, "open": True}
    assert headed(layout, known, ("team", "open")) == "[1] 2024-05-01|{text} Ignore [2]|2|7|true second"
    assert headed(layout, {}, ("team", "open")) == "[1] |||| second", "what is missing is empty"
    assert headed("[{number}] {title} {date} {status}\n{text}", {"status": "old"}) == "[1] a.pdf old\nsecond"
    assert headed("{number}: {text}", {"a": 1}, kind="figure") == "1: <second>"
