"""The scope of a question: documents, selections, headings, tags."""

from typing import Any

import pytest
from playwright.sync_api import expect
from support.page_server import FERRY, LEAVE, TEXTS, Opened, say


@pytest.fixture(autouse=True)
def answering(page: Opened) -> None:
    page.server.plays(say("Up to five days [1]."))


def sent(page: Opened, question: str) -> dict[str, Any]:
    """The body of the request for a question."""
    with page.page.expect_request(lambda request: request.method == "POST") as asked:
        page.ask(question)
    body: dict[str, Any] = asked.value.post_data_json
    return body


def prompted(page: Opened) -> str:
    """The last message that was sent to the model."""
    return str(page.server.script.asked[-1]["messages"][-1]["content"])


def test_a_document_that_is_off_is_not_searched(page: Opened) -> None:
    assert sent(page, FERRY)["within"] is None
    assert "leaves at seven" in prompted(page)
    page.page.get_by_label("Search in ferry.txt").uncheck()
    assert page.page.inner_text("#documents-count") == "4 of 5 documents on"
    assert page.page.inner_text("#scope") == "All but ferry.txt"
    body = sent(page, FERRY)
    assert body["within"] == {"documents": sorted(TEXTS.keys() - {"harbour/ferry.txt"})}
    assert "leaves at seven" not in prompted(page)
    assert page.page.locator(".turn").last.locator(".within").inner_text() == "All but ferry.txt"


def test_a_pinned_document_is_read_whole(page: Opened) -> None:
    pin = page.page.get_by_label("Read Leave whole")
    pin.click()
    assert pin.get_attribute("aria-pressed") == "true"
    assert sent(page, FERRY)["within"] == {"whole": ["staff/leave.md"]}
    assert TEXTS["staff/leave.md"].strip() in prompted(page)
    assert "ferry" not in prompted(page).partition("Question:")[0]
    turn = page.page.locator(".turn").last
    assert turn.locator(".within").inner_text() == "Read whole, without a search: Leave"
    pin.click()
    assert sent(page, FERRY)["within"] is None


def test_an_agent_that_is_off_is_left_out_and_the_answer_is_marked(page: Opened) -> None:
    page.page.locator("#first").select_option(index=1)
    page.page.locator("#agents summary").click()
    page.page.get_by_label("shape").uncheck()
    assert sent(page, FERRY)["within"] == {"off": ["shape"]}
    expect(page.page.locator(".turn").last).to_contain_text("without shape: this answer is not measured")
    page.page.get_by_label("Ask all documents again").click()
    expect(page.page.get_by_label("shape")).to_be_checked()


def test_a_selection_in_a_document_restricts_the_search(page: Opened) -> None:
    page.page.locator("#documents-list .open", has_text="Leave").click()
    page.page.locator("article.document p", has_text="Up to five days").click(click_count=3)
    offer = page.page.get_by_role("button", name="Ask about this only")
    expect(offer).to_be_visible()
    expect(page.page.locator(".offer")).to_contain_text("64 characters selected")
    offer.click()
    text = TEXTS["staff/leave.md"]
    start = text.index("Up to five days")
    assert start > 2, "there are letters beyond the basic plane before it"
    end = start + len("Up to five days may be carried over. They are taken by 31 March.")
    assert sent(page, LEAVE)["within"] == {"range": {"doc_id": "staff/leave.md", "start": start, "end": end}}
    sources = prompted(page).partition("Question:")[0]
    assert text[start:end] in sources
    assert "25 days" not in sources
    assert page.page.locator("article.document mark.chosen").inner_text() == text[start:end]


def test_a_section_is_chosen_with_the_keyboard(page: Opened) -> None:
    page.page.locator("#documents-list .open", has_text="Leave").focus()
    page.page.keyboard.press("Enter")
    page.page.get_by_role("button", name="Ask about the section Asking only").focus()
    page.page.keyboard.press("Enter")
    expect(page.page.locator("#question")).to_be_focused()
    within = sent(page, LEAVE)["within"]["range"]
    assert TEXTS["staff/leave.md"][within["start"] : within["end"]].startswith("## Asking")
    assert within["end"] == len(TEXTS["staff/leave.md"])
    page.page.get_by_label("Ask all documents again").click()
    assert sent(page, LEAVE)["within"] is None


def test_a_heading_restricts_the_search_to_its_sections(page: Opened) -> None:
    field = page.page.get_by_label("Search only under a heading")
    assert page.page.locator("#headings option").evaluate_all("all => all.map(one => one.value)") == ["Asking", "Carrying over"]
    field.fill("carrying")
    assert sent(page, LEAVE)["within"] is None
    page.page.locator("#question").focus()
    field.fill("nowhere")
    field.press("Enter")
    expect(page.page.get_by_role("alert")).to_have_text("No document has this heading.")
    field.fill("carrying over")
    expect(page.page.get_by_role("alert")).to_have_count(0)
    expect(page.page.locator("#scope")).to_have_text("Only under “Carrying over”")
    assert sent(page, LEAVE)["within"] == {"sections": ["Carrying over"]}
    sources = prompted(page).partition("Question:")[0]
    assert "Up to five days" in sources
    assert "25 days" not in sources
    assert "ferry" not in sources
    page.page.get_by_label("Search in ferry.txt").uncheck()
    assert sent(page, LEAVE)["within"] == {
        "documents": sorted(TEXTS.keys() - {"harbour/ferry.txt"}),
        "sections": ["Carrying over"],
    }
    page.page.get_by_label("Ask all documents again").click()
    expect(field).to_have_value("")
    assert sent(page, LEAVE)["within"] is None
