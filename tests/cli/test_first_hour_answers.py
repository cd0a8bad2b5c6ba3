"""Answers of the default pipeline to typical first questions."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from rag.core.types import Answer
from rag.execution.sweep.open_config import config_of, open_config, required_question
from rag.pipeline.pipeline import Pipeline

HOME = Path(__file__).parents[2]
HANDBOOK = HOME / "datasets" / "handbook"
INPUTS = [json.loads(line) for line in (HANDBOOK / "off_topic.jsonl").read_text("utf-8").splitlines()]


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pipeline]:
    """The default config over the documents on leave: to embed all of the handbook takes ten seconds."""
    folder = tmp_path_factory.mktemp("leave")
    shutil.copytree(HANDBOOK / "documents" / "leave", folder / "documents" / "leave")
    (folder / "questions.jsonl").write_text('{"id": "q", "text": "Any?", "unanswerable": true}\n', "utf-8")
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        yield open_config(config_of(["dataset=native", f"dataset.path={folder}"]))


def answered(pipeline: Pipeline, text: str) -> Answer:
    return pipeline.answer(required_question(text))


def test_the_first_question_of_the_readme_is_answered_from_the_edition_in_force(pipeline: Pipeline) -> None:
    question, _ = re.findall(r'rag ask "([^"]+)"', " ".join((HOME / "README.md").read_text("utf-8").split()))
    found = answered(pipeline, question)
    assert not found.abstained
    assert found.reply.text.startswith("You may carry up to four unused days into the next leave year")
    assert found.contexts[found.reply.citations[0] - 1].chunk.span.doc_id == "leave/annual-leave.md"


def test_a_question_about_the_old_edition_is_answered_from_it(pipeline: Pipeline) -> None:
    assert answered(pipeline, "How many unused days could I carry over in 2024?").reply.text.startswith("In 2024-25 up to six")


@pytest.mark.parametrize(
    ("text", "kind", "reply"),
    [("Thanks!", "pleasantry", "You're welcome."), ("How do I bake sourdough?", "off_topic", "I don't know.")],
)
def test_messages_that_are_no_questions_of_the_documents_have_no_answer_from_them(
    pipeline: Pipeline, text: str, kind: str, reply: str
) -> None:
    found = answered(pipeline, text)
    assert (found.abstained, found.input, found.reply.citations) == (True, kind, ())
    assert found.reply.text.startswith(reply)
    assert bool(found.contexts) == (kind == "off_topic")
    assert [(one.source, one.action) for one in found.findings] == [("off_topic", "abstain")]


def test_most_inputs_of_the_holdout_are_declined(pipeline: Pipeline) -> None:
    unseen = [row["text"] for row in INPUTS if row["split"] == "holdout"]
    assert len(unseen) == 40
    assert sum(answered(pipeline, text).abstained for text in unseen) >= 28
