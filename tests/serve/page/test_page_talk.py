"""Conversations: streamed answers, follow-ups, reloads, stops."""

from playwright.sync_api import expect
from support.page_server import FERRY, LEAVE, Gate, Opened, say
from support.scripted_server import broken

SESSION = "Object.values(JSON.parse(sessionStorage.getItem('assay.sessions')))[0]"
ANSWER = "Up to **five days** may be carried over [1]. They are taken by 31 March [1, 2]."


def test_an_answer_comes_in_pieces_and_then_with_its_sources(page: Opened) -> None:
    gate = Gate("Up to **five days** may be carried over [1]. ", "They are taken by 31 March [1, 2].")
    page.server.plays(gate)
    turn = page.ask(LEAVE, wait=False)
    expect(turn.locator(".body")).to_contain_text("five days may be carried over1", timeout=60_000)
    assert gate.reached.is_set()
    expect(turn.locator(".status")).to_have_text("Writing…")
    assert turn.locator(".answer").get_attribute("aria-busy") == "true"
    assert turn.locator(".foot").count() == 0
    assert page.page.locator("#send").get_attribute("aria-label") == "Stop"
    gate.open.set()
    page.done()
    assert turn.locator(".body").inner_text() == "Up to five days may be carried over1. They are taken by 31 March12."
    assert turn.locator(".body strong").inner_text() == "five days"
    assert turn.locator(".answer").get_attribute("aria-busy") is None
    assert turn.locator(".sources > ol .number").all_inner_texts() == ["1", "2"]
    assert page.page.locator("#send").get_attribute("aria-label") == "Ask"


def test_a_question_follows_up_unless_it_is_asked_on_its_own(page: Opened) -> None:
    page.server.plays(say(ANSWER))
    page.ask(LEAVE)
    page.ask("And when are they taken?")
    said = str(page.server.script.asked[1]["messages"])
    assert LEAVE in said
    assert "may be carried over" in said
    page.page.uncheck("#remember")
    turn = page.ask("And where is the form?")
    assert LEAVE not in str(page.server.script.asked[2]["messages"])
    assert turn.locator(".within").inner_text() == "Asked on its own"


def test_a_new_conversation_deletes_the_old_one_on_the_server(page: Opened) -> None:
    page.server.plays(say(ANSWER))
    page.ask(LEAVE)
    session = page.page.evaluate(SESSION)
    with page.page.expect_response(f"**/sessions/{session}") as forgotten:
        page.page.click("#new")
    assert forgotten.value.status == 204
    assert page.page.locator(".turn").count() == 0
    expect(page.page.locator("#empty")).to_be_visible()
    page.ask("And when are they taken?")
    assert LEAVE not in str(page.server.script.asked[-1]["messages"])


def test_a_conversation_that_has_expired_begins_anew_and_says_so(page: Opened) -> None:
    page.server.plays(say(ANSWER))
    page.ask(LEAVE)
    conversations = page.server.server.conversations
    session = page.page.evaluate(SESSION)
    conversations.forget("anyone", session)
    turn = page.ask("And when are they taken?")
    assert "had expired" in turn.locator(".hint").inner_text()
    assert LEAVE not in str(page.server.script.asked[-1]["messages"])
    assert turn.locator(".foot").count() == 1


def test_escape_stops_an_answer_and_keeps_its_text(page: Opened) -> None:
    gate = Gate("Up to five ", "days.")
    page.server.plays(gate)
    turn = page.ask(LEAVE, wait=False)
    expect(turn.locator(".body")).to_contain_text("Up to five", timeout=60_000)
    page.page.keyboard.press("Escape")
    page.done()
    gate.open.set()
    assert turn.locator(".problem").inner_text().startswith("Stopped. What stands above is not complete")
    page.server.plays(say(ANSWER))
    turn.get_by_role("button", name="Ask again").click()
    expect(turn.locator(".cite")).to_have_count(3, timeout=60_000)
    assert turn.locator(".problem").count() == 0


def test_a_model_that_is_down_leaves_the_passages(page: Opened) -> None:
    page.server.plays(broken())
    turn = page.ask(FERRY)
    alert = turn.get_by_role("alert")
    assert alert.inner_text().startswith("The model could not be reached.")
    assert turn.locator(".sources h4").inner_text() == "What was found"
    assert "ferry.txt" in turn.locator(".sources").inner_text()
    turn.locator(".sources .open").first.click()
    expect(page.page.locator("article.document mark.passage").first).to_be_visible()
    page.page.keyboard.press("Escape")
    page.server.plays(say("At seven [1]."))
    alert.get_by_role("button", name="Ask again").click()
    expect(turn.locator(".cite")).to_have_count(1, timeout=60_000)
