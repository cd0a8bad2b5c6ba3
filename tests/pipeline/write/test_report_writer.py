"""Reports: sections, numbers of sources, gaps, one further look, and what a model may reply."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.scripted_generator import Scripted

from rag.config.catalog import texts
from rag.core.errors import DataError, RefusalError, UserError
from rag.core.types import Reply, Request
from rag.execution.sweep.open_config import config_of, open_config
from rag.pipeline.pipeline import Pipeline
from rag.pipeline.write.report_gaps import GapCheck, gaps_in
from rag.pipeline.write.report_template import OUTLINE, outline, read_template
from rag.pipeline.write.report_writer import Report, Writer

KEYS = ("instruction", "prompt", "covered", "languages")
FERRY = {"heading": "The ferry", "guidance": "State when the ferry leaves, and what a ticket costs."}


class Model(Scripted):
    """A generator that counts as a model."""

    costly = True


@pytest.fixture
def pipeline(here: Path, golden: Path) -> Pipeline:
    given = ("dataset=native", f"dataset.path={golden}", "embedder=hashing", "prompt=section", "check=[citations]", "k=2")
    return open_config(config_of((*given, "generator.floor=0", "generator.share=0.1")))


def written(pipeline: Pipeline, *sections: dict[str, Any]) -> Report:
    title, planned = read_template({"title": "Timetable", "sections": list(sections)})
    return Writer(pipeline, GapCheck(texts("write", KEYS)), lambda heading: None).write(title, planned)


def said(report: Report, section: int = 0) -> str:
    return "\n".join("".join(map(str, line)) for line in report.sections[section].lines)


def modelled(pipeline: Pipeline, write: Callable[[Request], str], *gaps: str) -> tuple[Pipeline, Model]:
    """A pipeline whose model writes sections, and replies to requests for gaps in their order, with the last for ever."""
    replies = list(gaps) or ['{"gaps": []}']

    def reply(request: Request) -> Reply:
        if "Outline of the report" in request.messages[-1].content:
            return Reply(write(request), (), 10, 2, 0.5)
        return Reply(replies.pop(0) if len(replies) > 1 else replies[0], (), 3, 1, 0.25)

    model = Model(reply)
    return replace(pipeline, generator=model), model


def test_sentences_are_quoted_for_each_requirement_and_numbers_run_through(pipeline: Pipeline) -> None:
    twice = {"heading": "Both", "guidance": "State when the bus leaves; when the ferry leaves."}
    report = written(pipeline, FERRY, {"heading": "Empty", "subsections": [twice]})
    assert said(report).startswith("The ferry to Holm leaves at seven. 1")
    assert "The bus to Holm leaves at eight." in said(report, 2)
    assert report.sections[1].lines == ()
    assert [section.number for section in report.sections] == ["1", "2", "2.1"]
    cited = [part for section in report.sections for line in section.lines for part in line if isinstance(part, int)]
    assert list(dict.fromkeys(cited)) == [source.number for source in report.sources] == [*range(1, len(report.sources) + 1)]
    assert len(cited) > len(report.sources)  # the ferry is cited in both sections, as one source
    for source in report.sources:
        text = next(each.text for each in pipeline.corpus.documents if each.doc_id == source.doc_id)
        assert text[source.start : source.end] == source.quote


def test_what_no_sentence_covers_is_a_gap_and_a_section_of_gaps_has_no_data(pipeline: Pipeline) -> None:
    report = written(pipeline, {"heading": "Ferry", "guidance": "Name the captain, and say whether dogs travel free."})
    assert report.sections[0].gaps == ("Name the captain",)
    assert "Dogs travel free of charge." in said(report)
    nothing = written(pipeline, {"heading": "Lighthouse", "guidance": "Name the painter and the colours."}).sections[0]
    assert (nothing.insufficient, nothing.lines) == (True, (("[INSUFFICIENT DATA]",),))


def test_a_model_sees_the_whole_template_and_its_markers_are_numbered_again(pipeline: Pipeline) -> None:
    opened, model = modelled(pipeline, lambda request: "# Times [2]\n- At seven [2, 1].\nIn `rows[1]` [9].")
    report = written(replace(opened, reading=with_outline(opened, "THE OUTLINE")), FERRY, FERRY | {"heading": "Again"})
    assert all("THE OUTLINE" in request.messages[-1].content for request in model.requests[::2])
    lines = report.sections[0].lines
    first, second = (chunk.span.doc_id for chunk in model.requests[0].contexts)
    assert [[report.sources[part - 1].doc_id for part in line if isinstance(part, int)] for line in lines] == [
        [second],
        [second, first],
        [],
    ]
    assert report.sections[1].lines == lines  # the same quotes have the same numbers
    assert lines[-1] == ("In `rows[1]`.",)  # code is no marker, and [9] cites nothing
    assert any("9" in finding for finding in report.sections[0].findings)
    assert (report.tokens, report.cost) == (2 * (12 + 4), 1.5)


def with_outline(pipeline: Pipeline, text: str) -> Any:
    return replace(pipeline.reading, prompt=replace(pipeline.reading.prompt, project=text))  # type: ignore[type-var]


def test_gaps_are_searched_for_once_and_the_section_is_written_once_more(pipeline: Pipeline) -> None:
    texts_of = iter(["First [1].", "Second [1].", "Third [1]."])
    opened, model = modelled(pipeline, lambda request: next(texts_of), '{"gaps": ["lost property"]}')
    report = written(opened, FERRY)
    assert said(report) == "Second 1."
    assert report.sections[0].gaps == ("lost property",)
    first, _, second, _ = model.requests
    assert "thirty days" not in first.messages[-1].content
    assert "thirty days" in second.messages[-1].content
    assert {chunk.span for chunk in first.contexts} <= {chunk.span for chunk in second.contexts}


@pytest.mark.parametrize(
    "reply", ["No gaps.", '{"gaps": "none"}', '{"gaps": [1]}', '{"gaps": [], "more": 1}', '{"gaps": ["…", "…"]}']
)
def test_a_reply_of_another_form_is_replaced_by_a_comparison_of_words(pipeline: Pipeline, reply: str) -> None:
    with pytest.raises(ValueError, match=r"has|holds"):
        gaps_in(Reply(reply))
    opened, _ = modelled(pipeline, lambda _: "The ferry to Holm leaves at seven [1].", reply)
    section = written(opened, FERRY).sections[0]
    assert section.gaps == ("what a ticket costs",)
    assert "compared by words" in section.findings[-1]


def test_without_passages_or_after_a_refusal_a_section_has_no_data(pipeline: Pipeline) -> None:
    opened, model = modelled(pipeline, lambda _: "Invented.")
    report = written(opened, FERRY | {"within": {"documents": []}})
    assert report.sections[0].insufficient
    assert report.sections[0].gaps == ("State when the ferry leaves", "what a ticket costs")
    assert model.requests == []

    def refused(_: Request) -> str:
        raise RefusalError("model", "filtered", "ask something else")

    section = written(modelled(pipeline, refused)[0], FERRY).sections[0]
    assert (section.insufficient, section.findings) == (True, ("generator: filtered",))


def test_within_is_inherited_and_a_wrong_one_is_named_before_anything_is_asked(pipeline: Pipeline) -> None:
    inner = {"heading": "Times", "guidance": "State when the bus and the ferry leave."}
    report = written(pipeline, {"heading": "Bus", "within": {"documents": ["bus.md"]}, "subsections": [inner]})
    assert {source.doc_id for source in report.sources} == {"bus.md"}
    opened, model = modelled(pipeline, lambda _: "Text [1].")
    with pytest.raises(UserError, match=r"sections\[1\]\.within\.documents: there is no document 'boat.md'"):
        written(opened, FERRY, FERRY | {"within": {"documents": ["boat.md"]}})
    assert model.requests == []


@pytest.mark.parametrize(
    ("guidance", "wanted"),
    [
        ("State the price, the size and how it is kept.", ["State the price", "the size", "how it is kept"]),
        ("Rules for cats and dogs; fees.\n- the owner", ["Rules for cats and dogs", "fees", "the owner"]),
        ("Describe it. State the price. State the price.", ["State the price"]),
        ("", []),
    ],
)
def test_guidance_is_split_into_requirements(guidance: str, wanted: list[str]) -> None:
    assert GapCheck(texts("write", KEYS)).requirements(guidance) == wanted


def test_a_measure_needs_a_number() -> None:
    check = GapCheck(texts("write", KEYS))
    for text, gaps in (("Dogs need tickets.", ["the price of dogs"]), ("Dogs pay four crowns.", [])):
        assert check.uncovered(["the price of dogs"], "Ferry", [text], []) == gaps


@pytest.mark.parametrize(
    ("content", "place", "what"),
    [
        ("[" * 100_000, "t.json", "is no template"),
        ("\ud800", "t.json", "is no template"),
        (" " * (1 << 20) + "{}", "t.json", "1,048,576 are allowed"),
        (json.dumps({"title": "T", "sections": [{"heading": "A"}] * 1001}), "t.json", "1,001 sections"),
    ],
    ids=range(4),
)
def test_a_wrong_template_is_refused_with_its_place(tmp_path: Path, content: str, place: str, what: str) -> None:
    path = tmp_path / "t.json"
    path.write_bytes(content.encode("utf-8", "surrogatepass"))
    with pytest.raises(UserError) as caught:
        read_template(path)
    assert place in str(caught.value)
    assert what in str(caught.value)


def test_yaml_is_read_without_aliases_and_levels_are_bounded(tmp_path: Path) -> None:
    path = tmp_path / "t.yaml"
    path.write_text("title: A\nsections:\n- heading: B\n  guidance: |\n    One.\n    Two.\n", "utf-8")
    assert read_template(path)[1][0].guidance == "One.\nTwo."
    path.write_text("title: A\nsections: &all\n- heading: B\n  subsections: *all\n", "utf-8")
    with pytest.raises(DataError, match="alias"):
        read_template(path)
    deep: dict[str, Any] = {"heading": "H"}
    for _ in range(5):
        deep = {"heading": "H", "subsections": [deep]}
    with pytest.raises(DataError, match="level 6"):
        read_template({"title": "T", "sections": [deep]})
    with pytest.raises(DataError, match="cannot be read"):
        read_template(tmp_path / "none.json")


def test_a_long_outline_has_headings_alone() -> None:
    title, sections = read_template(
        {"title": "T", "sections": [{"heading": f"H{n}", "guidance": "x" * 600} for n in range(30)]}
    )
    assert outline(title, sections[:2]).splitlines()[1] == f"1 H0: {'x' * 600}"
    assert len(outline(title, sections)) < OUTLINE / 10
    assert outline(title, sections).splitlines()[1] == "1 H0"
