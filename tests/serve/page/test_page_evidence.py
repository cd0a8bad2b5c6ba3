"""The evidence of an answer: citations, passages, prompt, checks, cost."""

from collections.abc import Callable
from pathlib import Path

import httpx
from playwright.sync_api import expect
from support.page_server import FERRY, HOSTILE, LEAVE, PERMIT, Opened, page_server, say

ANSWER = "🌴 Up to five days may be carried over [1]. They are taken by 31 March."


def test_a_citation_opens_its_document_with_the_quoted_words_marked(page: Opened) -> None:
    page.server.plays(say(ANSWER))
    turn = page.ask(LEAVE)
    assert turn.locator(".body").inner_text() == "🌴 Up to five days may be carried over1. They are taken by 31 March."
    turn.locator(".cite").click()
    body = page.page.locator("#panel-body")
    expect(body.locator("mark.quote")).to_have_text("Up to five days may be carried over.")
    expect(body.locator("mark.quote")).to_be_in_viewport()
    assert "Everybody gets 25 days" in "".join(body.locator("mark.passage").all_inner_texts())
    assert page.page.inner_text("#panel-title") == "Leave"
    expect(page.page.locator("#panel-title")).to_be_focused()
    page.page.keyboard.press("Escape")
    expect(turn.locator(".cite")).to_be_focused()


def test_passages_have_the_ranks_of_the_server(page: Opened) -> None:
    page.server.plays(say(ANSWER))
    turn = page.ask(LEAVE)
    asked = {"question": LEAVE, "show": ["trace", "prompt"]}
    answer = httpx.post(f"{page.server.url}/ask", json=asked, timeout=60).json()
    turn.get_by_role("button", name="How it was found").click()
    rows = page.page.locator("#panel .passages > li")
    passages = sorted(answer["trace"]["passages"], key=lambda one: not one["kept"])
    assert rows.count() == len(passages)
    for row, one in zip(rows.all(), passages, strict=True):
        ranks = dict(zip(row.locator("dt").all_inner_texts(), row.locator("dd").all_inner_texts(), strict=True))
        assert {name: str(place["rank"]) for name, place in one["steps"].items()} == {
            k: v for k, v in ranks.items() if v != "–"
        }
        assert row.locator(".number").all_inner_texts() == ([str(one["number"])] if one["kept"] else [])
        assert row.locator(".why").all_inner_texts() == ([] if one["kept"] else [one["why"]])
    expect(page.page.locator("#panel-title")).to_have_text(LEAVE)
    dropped = page.page.locator("#panel .passages > li.dropped").first
    dropped.locator(".text > summary").click()
    expect(dropped.locator(".excerpt")).to_be_visible()
    dropped.locator(".open").click()
    expect(page.page.locator("article.document mark.passage").first).to_be_in_viewport()
    expect(page.page.locator("#panel-title")).not_to_have_text(LEAVE)
    page.page.get_by_role("tab", name="Passages").click()
    expect(page.page.locator("#panel-title")).to_have_text(LEAVE)


def test_the_prompt_is_that_of_the_model_and_is_edited_and_sent(page: Opened) -> None:
    page.server.plays(say(ANSWER))
    page.page.check("#preview")
    turn = page.ask("When does the ferry of ferry.txt leave?")
    fields, send = page.page.locator("#panel textarea"), page.page.get_by_role("button", name="Send", exact=True)
    assert page.server.script.asked == []
    shown = fields.evaluate_all("all => all.map(one => one.value)")
    send.click()
    expect(turn.locator(".cite")).to_have_count(1, timeout=60_000)
    assert shown == [message["content"] for message in page.server.script.asked[-1]["messages"]]
    turn.get_by_role("button", name="How it was found").click()
    page.page.get_by_role("tab", name="Prompt").click()
    fields.last.fill("\x07Answer in French.")
    send.click()
    expect(turn.locator(".warning")).to_contain_text("it was edited: this answer is not measured", timeout=60_000)
    assert page.server.script.asked[-1]["messages"][-1]["content"] == "Answer in French."
    turn.get_by_role("button", name="Read ferry.txt whole").click()
    expect(page.page.locator("#scope")).to_contain_text("Read whole, without a search: ferry.txt")


def test_time_tokens_and_bundle_are_shown(page: Opened) -> None:
    page.server.plays(say(ANSWER))
    turn = page.ask(LEAVE)
    facts = turn.locator("button.facts")
    facts.click()
    expect(page.page.get_by_role("tab", name="Cost")).to_have_attribute("aria-selected", "true")
    panel = page.page.locator("#panel-body")
    assert {"search", "generate", "all"} <= set(panel.locator(".times th").all_inner_texts())
    answered = httpx.get(f"{page.server.url}/healthz", timeout=60)
    assert answered.headers["X-Assay-Bundle"] in panel.inner_text()


def test_findings_are_shown_with_their_place(page: Opened) -> None:
    page.server.plays(say("Up to five days [1]. It is a Tuesday [9]."))
    turn = page.ask(LEAVE)
    turn.locator(".warning").click()
    expect(page.page.get_by_role("tab", name="Checks (2)")).to_have_attribute("aria-selected", "true")
    assert "cites 9" in page.page.inner_text("#panel .findings")


def test_hostile_text_stays_text_everywhere(page: Opened) -> None:
    page.server.plays(say(f"It is {HOSTILE} [1], says **{HOSTILE}** `{HOSTILE}` \u202e\u200b."))
    page.page.locator("#documents-list .pin").nth(3).click()
    turn = page.ask(f"{PERMIT} {HOSTILE}")
    turn.locator(".cite").first.click()
    document = page.page.locator("article.document")
    expect(document.locator(".hidden-letter")).to_have_text(["U+202E", "U+200B"])
    assert "a twenty pounds." in document.inner_text()
    assert document.locator(".aside summary").all_inner_texts() == ["Hidden", "Hidden"]
    document.locator(".aside summary").last.click()
    assert "<script>window.pwned=1</script>" in document.inner_text()
    for tab in ("Passages", "Checks", "Prompt", "Cost"):
        page.page.get_by_role("tab", name=tab).click()
    turn.locator(".thumb").first.click()
    turn.locator("textarea").fill(HOSTILE)
    turn.get_by_role("button", name="Send comment").click()
    expect(turn.locator("blockquote")).to_have_text(HOSTILE)
    assert turn.locator("h2").inner_text() == f"{PERMIT} {HOSTILE}"
    assert turn.locator(".hidden-letter").all_inner_texts() == ["U+202E", "U+200B"]
    assert page.page.evaluate("window.pwned") is None
    assert page.page.locator("img, iframe, body script").count() == 0
    assert page.page.locator("a").count() == 1, "the skip link"


def test_two_pipelines_answer_side_by_side(page: Opened) -> None:
    page.server.plays(say("At seven [1]."))
    page.page.select_option("#second", index=1)
    turn = page.ask(FERRY)
    names = page.page.locator("#first option").all_inner_texts()
    assert turn.locator(".answer h3").all_inner_texts() == names
    assert turn.locator(".shared").inner_text() == "Both read 1 of 3 passages."
    left, right = turn.locator(".answer").nth(0), turn.locator(".answer").nth(1)
    left.locator("summary").click()
    assert left.locator(".alone").count() == 2
    assert right.locator(".alone").count() == 0
    right.get_by_role("button", name="How it was found").click()
    assert page.page.locator("#panel .passages > li.kept").count() == 1
    assert page.page.locator("#panel .passages > li.kept dt").all_inner_texts()[0] == "bm25s"
    page.ask("And what does a ticket cost?")
    follow_ups = [body for body in page.server.script.asked if FERRY in str(body["messages"][:-1])]
    assert len(follow_ups) == 2, "each of them has a conversation of its own"


def test_a_reload_continues_the_conversation_and_shows_two_answers_side_by_side_again(page: Opened) -> None:
    page.server.plays(say("At seven [1]."))
    first = page.ask(LEAVE)
    assert first.locator(".answer").count() == 1
    page.page.select_option("#second", index=1)
    turn = page.ask(FERRY)
    assert turn.locator(".within").inner_text() == "A new conversation with recursive-200 · bm25s · Qwen2.5-7B-Instruct"
    page.page.reload()
    page.page.wait_for_selector("html[data-ready]", state="attached")
    assert page.page.locator(".turn h2").all_inner_texts() == [LEAVE, FERRY]
    assert [turn.locator(".answer").count() for turn in page.page.locator(".turn").all()] == [1, 2]
    page.ask("And what does a ticket cost?")
    assert FERRY in str(page.server.script.asked[-1]["messages"])


def test_a_routed_answer_shows_its_query_and_rows_with_sources(opened: Callable[..., Opened], tmp_path: Path) -> None:
    rows = "| Holm | 9 crowns |\n| <img src=x onerror=window.pwned=1> | 4 crowns |\n| Vik | 12 crowns |\n"
    texts = {"fares.md": f"# Fares\n\n| Line | Price |\n|---|---|\n{rows}"}
    with page_server(tmp_path, overrides=("route=rules", "enrich=tables"), texts=texts) as server:
        page = opened(server)
        turn = page.ask("Which lines have a price below 10 crowns?")
        asked = httpx.post(
            f"{server.url}/ask", json={"question": "Which lines have a price below 10 crowns?"}, timeout=60
        ).json()
        assert turn.locator(".look summary").inner_text() == f"Answered from records: {asked['look']['query']}"
        turn.locator(".look summary").click()
        assert turn.locator(".look tbody td:first-child").all_inner_texts() == ["Holm", asked["look"]["result"]["values"][1]]
        turn.locator(".look tbody button").first.click()
        expect(page.page.locator("article.document mark.passage").first).to_contain_text("Holm")
        assert page.page.evaluate("window.pwned") is None
        assert server.script.asked == []
