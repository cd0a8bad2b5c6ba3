"""Chunks that a model situates in their document."""

from collections.abc import Callable

import pytest
from support.choices import built, node
from support.scripted_generator import Scripted, raising

from rag.components.passages.contextual import ContextualText
from rag.components.passages.titled import TitledText
from rag.core.assessments import Spent
from rag.core.corpus import Corpus
from rag.core.errors import BudgetError, ConfigError, RefusalError, ServiceError
from rag.core.types import Document, Reply, Request, Span
from rag.testing import check_passage

WHERE = "This is the leave policy of the survey, on the days of band B."
MODELS: dict[str, Callable[[Request], Reply]] = {
    "useful": lambda request: Reply(f" {WHERE}\n", (), 3, 2, 0.5),
    "short": lambda request: Reply("ab"),
    "endless": lambda request: Reply("word " * 5000),
    "repeating": lambda request: Reply(request.query.text),
    "copying": lambda request: Reply("Rule 99 of the leave policy is short. Rule 100 of the leave policy."),
    "declining": lambda request: Reply("I cannot determine where this belongs."),
    "refused": lambda request: Reply("", failure="the prompt is too long"),
    "down": raising(ServiceError("http://here", "cannot be reached", "start it")),
    "broken": raising(RuntimeError("a bug")),
}
TEXT = "# Leave\n\n" + "".join(f"Rule {number} of the leave policy is short.\n\n" for number in range(300))


def build(model: str, **changes: int) -> tuple[ContextualText, Scripted]:
    generator = Scripted(MODELS[model])
    writer: ContextualText = built(node("passage", "contextual", **changes), generator)
    return writer, generator


def corpus(*starts: int) -> Corpus:
    return Corpus.of([Document("leave.md", TEXT)], [Span("leave.md", start, start + 39) for start in starts])


@pytest.mark.parametrize("model", sorted(set(MODELS) - {"refused", "down", "broken"}))
def test_laws(model: str) -> None:
    check_passage(build(model)[0])


def test_the_words_of_the_model_are_above_the_titled_text() -> None:
    (written,) = build("useful")[0].written(corpus(9))
    assert written == (f"{WHERE}\n{TitledText().texts(corpus(9))[0]}", "", Spent(5, 0.5))


@pytest.mark.parametrize("model", sorted(set(MODELS) - {"useful"}))
def test_a_useless_reply_leaves_the_titled_text_with_a_note(model: str) -> None:
    ((text, why, _),) = build(model)[0].written(corpus(9))
    assert [text] == TitledText().texts(corpus(9))
    assert why


def test_a_server_that_fails_gives_no_result() -> None:
    for model, error in {"down": ServiceError, "refused": RefusalError}.items():
        with pytest.raises(error):
            build(model)[0].texts(corpus(*range(9, 20)))


@pytest.mark.parametrize("error", [ConfigError("x", "y", "z"), BudgetError("budget", "is spent", "raise it")])
def test_a_wrong_config_and_a_spent_budget_are_errors(error: Exception) -> None:
    writer: ContextualText = built(node("passage", "contextual"), Scripted(raising(error)))
    with pytest.raises(type(error)):
        writer.texts(corpus(9))


def test_a_prompt_has_a_bounded_part_of_the_document_around_the_chunk() -> None:
    writer, generator = build("useful", document_chars=1000)
    writer.texts(corpus(*range(9, len(TEXT) - 39, 39)))
    prompts = [request.messages[-1].content for request in generator.requests]
    bare = len(writer.prompt) - len("{document}{headings}{chunk}")
    assert max(map(len, prompts)) <= bare + 1000 + 39 + len("Leave")
    documents = [prompt.partition("Headings over")[0] for prompt in prompts]
    assert all(request.query.text in part for part, request in zip(documents, generator.requests, strict=True))
    assert len(set(documents)) <= len(TEXT) // 500 + 1, "chunks near each other share the part of the document"


def test_a_short_document_is_read_whole() -> None:
    writer, generator = build("useful")
    writer.texts(Corpus.of([Document("d", "# A\n\nOne. Two.")], [Span("d", 5, 9)]))
    (request,) = generator.requests
    assert "# A\n\nOne. Two.\n" in request.messages[-1].content
    assert (request.query.query_id, request.query.text) == ("d:5-9", "One.")
