"""Statements of a conversation give way to the files in a prompt, and older statements to newer ones."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from support.small_set import write_golden

from rag.components.prompts.authority import AuthorityOrder
from rag.core.errors import ConfigError
from rag.core.types import Document, Query, Recalled, Turn
from rag.execution.sweep.open_config import config_of, open_config
from rag.pipeline.pipeline import Pipeline
from rag.pipeline.prompt.authority import GONE, settled

FILE = Document(
    "leave.md",
    "# Leave\n\nField crew get 25 days of annual leave. Contracts may be signed by the director in writing. "
    "The old iron gate at Holm opens at seven in the morning.",
)
RULES = AuthorityOrder()


def left(said: str, rules: AuthorityOrder = RULES, *files: Document) -> tuple[str, list[str]]:
    """What is left of an answer in the conversation, and the findings."""
    recalled, findings = settled(rules, Recalled((Turn("user", "And?"), Turn("assistant", said))), files or (FILE,))
    assert recalled.turns[0] == Turn("user", "And?")
    return recalled.turns[1].text, [finding.what for finding in findings]


@pytest.mark.parametrize(
    ("said", "how"),
    [
        ("Field crew get 28 days of annual leave.", "contradicts"),
        ("Contracts may not be signed by the director in writing.", "contradicts"),
        ("Field crew get 25 days of annual leave.", "repeats"),
    ],
)
def test_what_a_file_says_otherwise_or_too_is_left_out_and_said(said: str, how: str) -> None:
    text, findings = left(said)
    assert text == GONE
    assert len(findings) == 1
    assert f"{said!r} {how} leave.md: " in findings[0]


@pytest.mark.parametrize(
    "said",
    [
        "Laboratory staff of the Annex get 28 days of annual sabbatical.",
        "Do field crew get 28 days of annual leave?",
        "Leave is 28.",
        "The ferry leaves at seven.",
        "The old iron gate at Southmoor opens at eight in the morning.",
    ],
)
def test_other_matters_questions_and_short_statements_stay(said: str) -> None:
    assert left(said) == (said, [])


def test_lines_of_a_summary_are_left_out() -> None:
    summary = "- user: The ferry leaves at seven.\n- assistant: Field crew get 28 days of annual leave."
    recalled, findings = settled(RULES, Recalled((), summary), [FILE])
    assert recalled.summary == "- user: The ferry leaves at seven."
    assert len(findings) == 1


@pytest.mark.parametrize(("order", "kept"), [(["newer", "older"], 1), (["older", "newer"], 0), ([], None), (["files"], None)])
def test_the_order_decides_between_newer_and_older_statements(order: list[str], kept: int | None) -> None:
    said = ["The boat to Holm costs 9 crowns for a day.", "The boat to Holm costs 11 crowns for a day."]
    turns = tuple(Turn("assistant", text) for text in said)
    recalled, findings = settled(replace(RULES, order=order), Recalled(turns), [FILE])
    assert [turn.text for turn in recalled.turns] == [
        text if kept in (place, None) else GONE for place, text in enumerate(said)
    ]
    assert len(findings) == (kept is not None)


def test_an_old_edition_overrules_nothing() -> None:
    old = replace(
        FILE, doc_id="leave-2023.md", text=FILE.text.replace("25", "23"), metadata={"series": "leave", "date": "2023"}
    )
    new = replace(FILE, metadata={"series": "leave", "date": "2025"})
    text, (finding,) = left("Field crew get 23 days of annual leave.", RULES, old, new)
    assert text == GONE
    assert "contradicts leave.md: " in finding


@pytest.mark.parametrize("wrong", [{"order": ["files", "gossip"]}, {"same": 2.0}, {"copy": -1.0}, {"language": "klingon"}])
def test_parameters_that_make_no_sense_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match=r"prompt\.authority"):
        AuthorityOrder(**wrong)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pipeline]:
    folder = tmp_path_factory.mktemp("files")
    write_golden(folder / "golden")
    given = ("dataset=native", "dataset.path=golden", "embedder=hashing", "check=none")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        yield open_config(config_of([*given, "pinned=[bus.md]", "memory=buffer"]))


def test_a_prompt_with_a_pinned_file_shows_nothing_that_it_contradicts(pipeline: Pipeline) -> None:
    wrong = "The bus to Holm leaves every morning at ten."
    query = Query("q", "And back?", (Turn("user", "When does the bus leave?"), Turn("assistant", wrong)))
    answer = pipeline.answer(query)
    prepared = pipeline.prepare(query, pipeline.trace(query))
    assert prepared.request is not None
    assert wrong not in "\n".join(message.content for message in prepared.request.messages)
    assert [finding.source for finding in answer.findings] == ["authority"]
    unpinned = replace(pipeline, reading=replace(pipeline.reading, pinned=()))
    assert unpinned.answer(query).findings == ()
