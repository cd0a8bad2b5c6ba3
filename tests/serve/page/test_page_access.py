"""Keys, ratings, keyboard, contrast, narrow windows, and failures of requests."""

import re
from collections.abc import Callable
from importlib import resources

import httpx
import pytest
from playwright.sync_api import expect
from support.chromium import CONTRAST
from support.page_server import FERRY, LEAVE, Opened, PageServer, say
from support.servers import key_of

Open = Callable[..., Opened]
PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}
SHIPPED = {item.name: item.read_text("utf-8") for item in resources.files("rag.serve.page").iterdir() if "." in item.name[1:]}

NAMELESS = """() => [...document.querySelectorAll("button, input, select, textarea, [role=tab], aside, dialog, [tabindex='0']")]
  .filter(one => one.checkVisibility())
  .filter(one => !(one.ariaLabel || one.textContent.trim() || one.labels?.length || one.getAttribute("aria-labelledby")
    || one.matches(".wide, pre")))
  .map(one => one.outerHTML.slice(0, 100))"""


def test_the_page_holds_nothing_inline_and_is_served_with_a_policy(server: PageServer) -> None:
    found = httpx.get(server.url, timeout=60)
    assert "default-src 'self'" in found.headers["content-security-policy"]
    assert "unsafe" not in found.headers["content-security-policy"]
    assert not re.search(r"<style|\son\w+=|\sstyle=|<script(?![^>]* src=)", found.text)
    for name in re.findall(r'(?:href|src)="(page/[^"#]+)', found.text):
        assert httpx.get(f"{server.url}/{name}", timeout=60).status_code == 200
    again = httpx.get(server.url, headers={"If-None-Match": found.headers["etag"]}, timeout=60)
    assert again.status_code == 304
    assert httpx.get(f"{server.url}/page/__init__.py", timeout=60).status_code == 404


def test_scripts_write_no_html_and_name_no_other_host() -> None:
    for name, text in SHIPPED.items():
        if name.endswith(".js"):
            assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", text), name
        if name != "icons.svg":
            addresses = set(re.findall(r"https?://[^\"' )]+", text)) - {"http://www.w3.org/2000/svg"}
            assert addresses == set(), name


def test_a_key_is_asked_for_and_stored_in_the_tab(keyed: PageServer, opened: Open) -> None:
    found = opened(keyed, wait=False)
    dialog, nowhere = found.page.get_by_role("dialog"), found.page.locator(".nowhere")
    dialog.get_by_role("button", name="Cancel").click()
    expect(nowhere).to_contain_text("A key is needed.")
    nowhere.get_by_role("button", name="Try again").click()
    expect(dialog.get_by_label("Key", exact=True)).to_be_focused()
    found.page.keyboard.type("sk-assay-unknown")
    found.page.keyboard.press("Enter")
    expect(dialog.get_by_role("alert")).to_have_text("That key is not known here.")
    expect(dialog.get_by_label("Key", exact=True)).to_be_focused()
    found.page.keyboard.type(key_of("ada"))
    found.page.keyboard.press("Enter")
    found.page.wait_for_selector("html[data-ready]", state="attached")
    keyed.plays(say("At seven [1]."))
    assert found.ask(FERRY).locator(".cite").count() == 1
    found.page.reload()
    found.page.wait_for_selector("html[data-ready]", state="attached")
    assert found.page.locator(".turn h2").all_inner_texts() == [FERRY]
    assert found.page.evaluate("Object.keys(localStorage).length + document.cookie.length") == 0


def test_thumbs_become_candidates_for_golden_questions(page: Opened) -> None:
    page.server.plays(say("At eight [1]."))
    opinions = page.server.server.opinions
    before = {one.answer for one in opinions.candidates()}
    turn = page.ask(FERRY)
    bad = turn.get_by_role("button", name="A bad answer")
    bad.click()
    expect(turn.locator(".noted")).to_have_text("Noted. A reviewer can make a golden question of it.")
    assert bad.get_attribute("aria-pressed") == "true"
    (rated,) = [one for one in opinions.candidates() if one.answer not in before]
    assert (rated.rating, rated.comment, rated.told["question"]) == (-1, "", FERRY)
    turn.get_by_label("Comment").fill("It is the bus that leaves at eight.")
    turn.get_by_role("button", name="Send comment").click()
    expect(turn.locator("blockquote")).to_have_text("It is the bus that leaves at eight.")
    (rated,) = [one for one in opinions.candidates() if one.answer not in before]
    assert (rated.rating, rated.comment) == (-1, "It is the bus that leaves at eight.")


def test_everything_can_be_done_with_the_keyboard(page: Opened) -> None:
    page.server.plays(say("At seven [1]."))
    keyboard = page.page.keyboard
    expect(page.page.locator("#question")).to_be_focused()
    keyboard.type(FERRY)
    keyboard.press("Enter")
    page.page.locator(".turn .foot").wait_for()
    page.done()
    page.page.locator(".cite").focus()
    keyboard.press("Enter")
    expect(page.page.locator("article.document")).to_be_visible()
    page.page.get_by_role("tab", name="Document").focus()
    keyboard.press("ArrowRight")
    expect(page.page.get_by_role("tab", name="Passages")).to_be_focused()
    expect(page.page.locator(".passages").first).to_be_visible()
    keyboard.press("End")
    expect(page.page.get_by_role("tab", name="Cost")).to_have_attribute("aria-selected", "true")
    keyboard.press("Escape")
    expect(page.page.locator("#panel")).to_be_hidden()
    expect(page.page.locator(".cite")).to_be_focused()
    keyboard.press("/")
    expect(page.page.locator("#question")).to_be_focused()
    reached = set()
    for _ in range(60):
        keyboard.press("Shift+Tab")
        reached.add(page.page.evaluate("document.activeElement.id || document.activeElement.className"))
    assert {"thumb", "cite", "first", "second", "new", "documents-filter", "documents-all"} <= {
        name for one in reached for name in one.split()
    }


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_can_be_read_and_everything_has_a_name(scheme: str, opened: Open) -> None:
    found = opened(color_scheme=scheme)
    found.server.plays(say("Up to five days [1]. And [9]."))
    found.page.get_by_label("Search in ferry.txt").uncheck()
    turn = found.ask(LEAVE)
    found.server.plays(say("I don't know."))
    found.ask(LEAVE)
    turn.locator(".thumb").last.click()
    turn.locator(".noted:not(:empty)").wait_for()
    for tab in ("Document", "Passages", "Checks", "Prompt", "Cost"):
        if tab == "Document":
            turn.locator(".cite").click()
            found.page.locator("mark.quote").wait_for()
        found.page.get_by_role("tab", name=tab).click()
        assert found.page.evaluate(CONTRAST) == []
        assert found.page.evaluate(NAMELESS) == []
    names = found.page.locator("[id]").evaluate_all("all => all.map(one => one.id)")
    assert len(names) == len(set(names))


def test_on_a_phone_nothing_is_cut_off_and_panels_cover_the_page(opened: Open) -> None:
    found = opened(**PHONE)
    found.server.plays(say("Up to five days may be carried over [1]."))
    page = found.page
    page.select_option("#second", index=1)
    turn = found.ask(LEAVE)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert turn.locator(".answer").nth(1).bounding_box()["y"] > turn.locator(".answer").nth(0).bounding_box()["y"] + 50  # type: ignore[index]
    turn.locator(".cite").first.click()
    expect(page.locator("mark.quote").first).to_be_in_viewport()
    assert page.locator("#panel").bounding_box() == {"x": 0, "y": 0, "width": 390, "height": 844}
    assert page.evaluate("document.querySelector('main').inert")
    page.locator("#panel-close").click()
    assert not page.evaluate("document.querySelector('main').inert")
    expect(turn.locator(".cite").first).to_be_focused()
    page.locator("#documents-open").click()
    page.locator("#documents-list .open", has_text="Leave").click()
    page.get_by_role("button", name="Ask about the section Carrying over only").click()
    expect(page.locator("#panel")).to_be_hidden()
    expect(page.locator("#documents")).to_be_hidden()
    expect(page.locator("#scope")).to_contain_text("Only characters")
    expect(page.locator("#question")).to_be_in_viewport()
