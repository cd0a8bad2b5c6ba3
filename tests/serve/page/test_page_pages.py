"""A document with pages in the reader: separators, outlines of blocks, chunks, redactions."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import expect
from support.chromium import CONTRAST
from support.page_server import Opened, PageServer, page_server, say
from support.paged_documents import POLICY, parsed_pages

QUESTION = "How many days may be carried over?"
TEXTS = {"leave/policy.txt": POLICY}


@pytest.fixture(scope="module")
def paged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PageServer]:
    """A server of documents with pages."""
    with parsed_pages(), page_server(tmp_path_factory.mktemp("paged"), texts=TEXTS) as found:
        yield found


def test_a_citation_opens_at_its_page_and_marks_its_block(opened: Callable[..., Opened], paged: PageServer) -> None:
    page = opened(paged)
    paged.plays(say("Up to five days may be carried over [1]."))
    turn = page.ask(QUESTION)
    expect(turn.locator(".sources .section").first).to_have_text("policy.txt · Carrying over · p. 2")
    turn.locator(".cite").first.click()
    sections = page.page.locator("article.document section.page")
    expect(sections).to_have_count(3)
    assert sections.evaluate_all("all => all.map(one => one.dataset.page)") == ["1", "2", "3"]
    expect(page.page.locator("mark.quote")).to_be_in_viewport()
    expect(sections.nth(1).locator(".sheet")).to_be_in_viewport()
    assert page.page.locator("mark.quote").evaluate("one => one.closest('.page').dataset.page") == "2"
    marked = page.page.locator(".sheet .cited")
    assert marked.evaluate_all("all => all.map(one => [one.closest('.page').dataset.page, one.textContent])") == [["2", "text"]]
    assert float(marked.get_attribute("y") or 0) == pytest.approx(132 / 4)
    assert sections.nth(0).locator("table td").all_inner_texts() == ["0–4", "25", "5–9", "27"]
    assert sections.nth(0).locator("rect").count() == 1 + 4 + 6, "the page, its blocks and the cells"
    assert page.page.locator("mark.redacted").all_inner_texts() == ["[EMAIL]"]
    assert page.page.locator("mark.redacted").get_attribute("title") == "Redacted: email"


def test_the_reading_of_a_document_is_shown_and_its_chunks_open(opened: Callable[..., Opened], paged: PageServer) -> None:
    page = opened(paged, viewport={"width": 390, "height": 844}, reduced_motion="reduce")
    page.page.locator("#documents-open").click()
    page.page.locator("#documents-list .open", has_text="Annual leave").click()
    reading = page.page.locator("details.reading")
    expect(reading.locator("summary")).to_have_text("18 blocks, 3 chunks, 1 flagged")
    reading.locator("summary").focus()
    page.page.keyboard.press("Enter")
    assert [" ".join(row.split()) for row in reading.locator(".facts > div").all_inner_texts()] == [
        "Blocks 3 heading, 5 text, 1 table, 6 cell, 3 marginalia",
        "Redacted 1 email",
        "Flags mojibake",
    ]
    expect(reading.locator("li .tag")).to_have_text(["mojibake"])
    assert page.page.evaluate(CONTRAST) == []
    reading.locator("li button").nth(2).click()
    assert page.page.locator("mark.passage").first.evaluate("one => one.closest('.page').dataset.page") in ("2", "3")
    assert page.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
