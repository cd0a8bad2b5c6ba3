"""`rag ask --report` and `rag.write_report`: formats, budgets, bundles, interrupts and what a careless person types."""

import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import docx
import pytest
from lxml import html
from markdown_it import MarkdownIt
from support.command_line import Verb
from support.scripted_server import Script, answer, serving, slow
from support.small_server import small_bundle

import rag as assay
from rag.pipeline.write.report_writer import Report, Source, WrittenSection
from rag.reporting import report_files

HOSTILE = "<script>alert(1)</script> [x](http://evil.example) ![](y) $a$ =1+1 {{ x }} \x00\x07\ud800 \ue0007\ue001 `c`"
REPORT = Report(
    f"Title {HOSTILE}",
    (
        WrittenSection("1", f"# {HOSTILE}", (("Text ", 1, ", ", 2, f" {HOSTILE}"), ("- item ", 2, ""), ("2. not a list",))),
        WrittenSection("1.1", "Same", (("[INSUFFICIENT DATA]",),), True, (HOSTILE,), ("check: what",)),
        WrittenSection("2", "Same", (("", 1, ""),)),
    ),
    (Source(1, "a.md", 0, 4, "Top", "p. 3", HOSTILE), Source(2, "b.md", 5, 9, "", "", "x" * 2000)),
    120,
    0.5,
    1.25,
)
MODEL = ("generator=llamacpp", "generator.runtime.retries=0", "embedder=hashing", "dataset=native", "store=store")


def test_markdown_shows_texts_as_text_and_links_markers_to_sources() -> None:
    page = html.fromstring(MarkdownIt("commonmark").render(report_files.markdown(REPORT)))
    assert [each.text_content() for each in page.iter("h3")] == ["1.1 Same"]
    assert not list(page.iter("script", "img", "code", "ol"))
    assert [each.text_content().strip() for each in page.iter("li")] == ["item [2]"]
    assert {each.get("href") for each in page.iter("a")} == {None, "#source-1", "#source-2"}
    assert {each.get("id") for each in page.iter("a")} == {None, "source-1", "source-2"}
    assert "alert(1)" in page.text_content()


def test_html_shows_texts_as_text_and_every_link_has_its_target() -> None:
    text = report_files.html(REPORT)
    page = html.fromstring(text)
    assert not list(page.iter("script", "img"))
    links = [each.get("href") for each in page.xpath("//main//a")]
    assert links == ["#source-1", "#source-2", "#source-2", "#source-1"]
    assert all(page.get_element_by_id(link[1:]) is not None for link in links)
    assert [(each.tag, each.text_content()) for each in page.xpath("//main//h3|//main//h2")][1:] == [
        ("h3", "1.1 Same"),
        ("h2", "2 Same"),
        ("h2", "Sources"),
    ]
    assert "default-src &#39;none&#39;" in text


def test_docx_has_headings_lists_links_and_no_footer() -> None:
    data = report_files.docx(REPORT)
    assert data == report_files.docx(REPORT)
    document = docx.Document(io.BytesIO(data))
    styles = [(each.style.name, each.text) for each in document.paragraphs if each.style]
    assert styles[0][0] == "Title"
    assert [text for name, text in styles if name == "Heading 2"] == ["1.1 Same"]
    assert [text for name, text in styles if name == "List Bullet"] == ["item [2]"]
    assert not any(each.text for section in document.sections for each in section.footer.paragraphs)
    xml = document.element.xml
    anchors, names = (re.findall(rf'{name}="(source\d+)"', xml) for name in ("w:anchor", "w:name"))
    assert (anchors, names) == (["source1", "source2", "source2", "source1"], ["source1", "source2"])


def test_an_unknown_price_is_said(tmp_path: Path) -> None:
    assert "US dollars: 0.5000" in report_files.summary(REPORT)
    assert "US dollars: unknown" in report_files.summary(replace(REPORT, cost=float("nan")))
    assert "dollars" not in report_files.summary(replace(REPORT, tokens=0))


@pytest.fixture
def template(here: Path, golden: Path) -> Path:
    """A template in the working folder."""
    ferry = {"heading": "Ferry", "guidance": "State when the ferry to Holm leaves."}
    sections = [ferry, {"heading": "Dogs", "guidance": "Whether dogs travel free."}]
    (here / "t.json").write_text(json.dumps({"title": "Travel", "sections": sections}), "utf-8")
    return here / "t.json"


def given(golden: Path, *more: str) -> tuple[str, ...]:
    return ("t.json", f"dataset.path={golden}", "dataset=native", "embedder=hashing", "store=store", *more)


@pytest.mark.parametrize("ending", ["md", "html", "docx"])
def test_a_file_is_written_and_is_the_same_again(rag: Verb, template: Path, golden: Path, here: Path, ending: str) -> None:
    made = []
    for name in ("a", "b"):
        done = rag("write", *given(golden, "--out", f"{name}.{ending}"))
        assert (done.code, done.out) == (0, "")
        made.append((here / f"{name}.{ending}").read_bytes())
    assert made[0] == made[1]


def test_standard_output_has_markdown_or_json(rag: Verb, template: Path, golden: Path) -> None:
    shown = rag("write", *given(golden))
    assert shown.out.startswith("# Travel\n\n## 1 Ferry\n\nThe ferry to Holm leaves at seven. [\\[1\\]](#source-1)")
    assert "sections: 2, without data: 0" in shown.err
    found = rag("write", *given(golden, "--json")).json
    assert found["sections"][0]["lines"][0][:2] == ["The ferry to Holm leaves at seven. ", 1]
    assert (found["sources"][0]["quote"], found["tokens"]) == ("The ferry to Holm leaves at seven.", 0)


def test_a_generator_that_writes_nothing_is_refused(rag: Verb, template: Path, golden: Path) -> None:
    for name, what in (("none", "writes nothing"), ("closed_book", "writes nothing"), ("gold", "golden questions")):
        done = rag("write", *given(golden, f"generator={name}"))
        assert (done.code, what in done.err) == (2, True), done.err


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Iterator[Script]:
    with serving(answer(lambda asked: '{"gaps": []}' if "Guidance of the section" in asked else "At seven [1].")) as played:
        monkeypatch.setenv("LLAMACPP_BASE_URL", played.url)
        yield played


def test_replies_are_stored_within_the_budget(rag: Verb, template: Path, golden: Path, script: Script) -> None:
    model = (*MODEL, f"generator.base_url={script.url}")
    small = rag("write", *given(golden, *model[:3], "budget.tokens=800", "--out", "r.md"))
    assert (small.code, Path("r.md").exists()) == (4, False)
    spent = len(script.asked)
    first = rag("write", *given(golden, *model[:3]))
    assert "tokens: 136" in first.err  # four requests of 34
    assert len(script.asked) == 4 >= spent
    again = rag("write", *given(golden, *model[:3]))
    assert (again.out, len(script.asked)) == (first.out, 4)


def test_a_bundle_writes_too(template: Path, tmp_path: Path) -> None:
    bundle = small_bundle(tmp_path / "sealed", "generator=extractive")
    report = assay.write_report(template, bundle=bundle, out="r.md")
    assert "The ferry to Holm leaves at seven." in Path("r.md").read_text("utf-8")
    assert report.sections[0].gaps == ()
    assert report.sections[1].lines[0][0] == "Dogs travel free of charge. "


@pytest.mark.system
def test_ctrl_c_leaves_no_file_and_keeps_what_is_paid(template: Path, golden: Path, here: Path) -> None:
    with serving(answer(lambda asked: '{"gaps": []}' if "Guidance" in asked else "At seven [1]."), slow(60)) as played:
        arguments: Any = [*given(golden, *MODEL[:2], f"generator.base_url={played.url}"), "--out", "r.md"]
        child = subprocess.Popen([sys.executable, "-m", "rag", "write", *arguments], env={**os.environ})
        while len(played.asked) < 2:
            time.sleep(0.05)
        child.send_signal(signal.SIGINT)
        assert child.wait(20) == 130
    assert not list(here.glob("*r.md*"))
    assert len(list((here / "store" / "replies").rglob("*"))) > 1
