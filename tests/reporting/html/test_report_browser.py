import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from playwright.sync_api import expect
from reporting.html.conftest import Opened
from support import synthetic_reports
from support.chromium import CONTRAST

from rag.reporting.html import page

Open = Callable[..., Opened]
MATERIAL = synthetic_reports.material(3, 20)
EXPLORER = MATERIAL.explorer
assert EXPLORER is not None


def requests(found: Opened) -> list[str]:
    return [url for url in found.requests if not url.startswith(("file:", "data:"))]


def test_a_report_opens_from_disk_and_can_be_read_everywhere(three: Path, opened: Open) -> None:
    found = opened(three)
    page = found.page
    assert found.errors == []
    assert [url for url in found.requests if not url.startswith("data:")] == [three.as_uri()]
    assert page.title() == "synthetic – Assay report"
    text = page.inner_text(".verdict")
    assert text.splitlines()[0] == "What to do"
    assert f"Take {getattr(MATERIAL.chosen, 'name', None)}." in text
    assert text.index("How sure") < text.index("What it costs")
    unnamed = page.evaluate("""() => [
      ...[...document.querySelectorAll("svg")].filter(svg => svg.getAttribute("role") !== "img"),
      ...[...document.querySelectorAll("svg > title, svg > desc")].filter(told => !told.textContent),
      ...[...document.querySelectorAll("table")].filter(table => !table.caption && !table.closest("#detail")),
      ...[...document.querySelectorAll("th")].filter(head => !head.scope),
      ...[...document.querySelectorAll("select, input")].filter(field => !field.labels.length),
      ...[...document.querySelectorAll("[tabindex='0'].scroll")].filter(region => !region.getAttribute("aria-label")),
    ].map(element => element.outerHTML.slice(0, 200))""")
    assert unnamed == []
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(each => each.id)")
    assert len(set(ids)) == len(ids)
    levels = page.evaluate("[...document.querySelectorAll('h1,h2,h3,h4')].map(head => head.tagName)")
    assert levels[:2] == ["H1", "H2"]
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        ground = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
        assert (sum(int(part) for part in ground[4:-1].split(",")) < 150) == (scheme == "dark")
        assert page.evaluate(CONTRAST) == []
    page.set_viewport_size({"width": 360, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360, "a table scrolls, not the page"
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--ink')").strip() == "#1d1c1a"
    assert not page.locator("#filters").is_visible()
    assert page.locator("table th").first.is_visible()


def test_the_policy_lets_nothing_out(three: Path, opened: Open) -> None:
    found = opened(three)
    with listening() as (address, heard):
        found.page.evaluate(
            """async address => {
              const image = new Image(); image.src = address + "/x.png"; document.body.append(image);
              const script = document.createElement("script"); script.textContent = "window.pwned = 1";
              document.body.append(script);
              document.body.setAttribute("style", "color: red");
              await fetch(address + "/y").catch(() => {});
            }""",
            address,
        )
        until = time.monotonic() + 60
        while len(found.errors) < 4 and time.monotonic() < until:
            found.page.wait_for_timeout(100)  # The browser reports refusals after a while.
    assert heard == []
    assert found.page.evaluate("window.pwned") is None
    assert len(found.errors) >= 4


@contextmanager
def listening() -> Iterator[tuple[str, list[str]]]:
    """A server on this machine that notes what it is asked for."""
    heard: list[str] = []

    class Listener(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            heard.append(self.path)
            self.send_error(404)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Listener) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", heard
        server.shutdown()


def test_what_comes_from_data_stays_text(tmp_path: Path, opened: Open) -> None:
    material = MATERIAL
    rows = tuple(
        replace(row, name=synthetic_reports.HOSTILE + "$x$ " + row.name, error=synthetic_reports.HOSTILE)
        for row in material.trials
    )
    hostile = replace(
        material, trials=rows, question=synthetic_reports.HOSTILE, experiment=synthetic_reports.HOSTILE, objective="\"'><b>"
    )
    path = tmp_path / "index.html"
    path.write_text(page.render(hostile), "utf-8")
    found = opened(path)
    assert found.errors == []
    assert requests(found) == []
    assert found.page.evaluate("window.pwned") is None
    assert found.page.locator("script").count() == synthetic_scripts(path)
    assert found.page.locator("img").count() == 0
    detail = found.page.locator("#detail")
    assert synthetic_reports.HOSTILE in detail.inner_text()
    assert found.page.locator("h1").inner_text() == synthetic_reports.HOSTILE
    detail.locator("xpath=.//*[contains(., 'hostile.md')]").first.wait_for()


def synthetic_scripts(path: Path) -> int:
    """Data blocks and the explorer itself, as the template writes them."""
    text = path.read_text("utf-8")
    return text.count('<script type="application/json"') + text.count("<script>\n")


def test_questions_are_filtered_by_kind_outcome_stage_and_words(three: Path, opened: Open) -> None:
    found = opened(three).page
    first = EXPLORER.trials[0]

    def count() -> int:
        return int(found.inner_text("#count").split()[0])

    assert count() == 20
    found.select_option("#kind", label="table")
    assert count() == sum(question.kind == "table" for question in EXPLORER.questions) == found.locator("#list li").count()
    found.select_option("#kind", "")
    found.select_option("#outcome", label="A: solved")
    assert count() == sum(outcome == 0 for outcome in first.outcomes)
    found.select_option("#outcome", label="A: not fully solved")
    assert count() == sum(outcome in (1, 2, 4) for outcome in first.outcomes)
    found.select_option("#outcome", "")
    found.select_option("#stage", label=synthetic_reports.STAGES[2])
    assert count() == sum(stage == 3 for stage in first.stages)
    found.select_option("#stage", "")
    found.fill("#words", "q13")
    assert count() == 1
    found.fill("#words", "nothing has this")
    assert count() == 0
    assert found.locator("#list li").count() == 0


def test_two_trials_are_side_by_side(three: Path, opened: Open) -> None:
    found = opened(three).page
    names = found.locator("#first option").all_inner_texts()
    found.select_option("#first", "2")
    found.select_option("#second", "0")
    found.locator("#list button").nth(5).click()
    sides = found.locator(".sides > section")
    assert [sides.nth(place).locator("h4").inner_text() for place in (0, 1)] == [f"A {names[2]}", f"B {names[0]}"]
    wanted = EXPLORER.rankings[EXPLORER.trials[2].ranking].passages[5]
    where = sides.nth(0).locator("li:not(.cut) .where").all_inner_texts()
    assert [text.split(" · ")[0] for text in where] == [
        f"{rank} {doc} {start}–{end}" for rank, (doc, start, end) in enumerate(wanted, 1)
    ]
    assert sides.nth(0).locator(".cut").inner_text() == "Below the cut: k = 5"
    (doc, start, end), *_ = EXPLORER.gold[1][0]
    found.locator("#list button").nth(1).click()
    assert found.locator(".gold mark").first.text_content() == EXPLORER.documents[doc][start:end]
    doc, start, end = EXPLORER.rankings[EXPLORER.trials[2].ranking].passages[1][0]
    shown = found.locator(".sides section").first.locator("li .text").first.text_content()
    assert shown == EXPLORER.documents[doc][start:end]


def test_changes_are_ordered_and_show_the_chunks_of_both_trials(three: Path, opened: Open) -> None:
    page = opened(three, reduced_motion="reduce").page
    for first, second in ((0, 1), (2, 0)):
        page.select_option("#first", str(first))
        page.select_option("#second", str(second))
        one, other = (EXPLORER.trials[trial].scores["ndcg@10"] for trial in (first, second))
        apart = {
            question.query.query_id: a - b for question, a, b in zip(EXPLORER.questions, one, other, strict=True) if a != b
        }
        for letter, sign in (("A", 1), ("B", -1)):
            better = sorted((name for name in apart if sign * apart[name] > 0), key=lambda name: -sign * round(apart[name], 3))
            head = page.locator("#changed h3", has_text=f"{letter} is better: {len(better)} question")
            where = head.locator("xpath=following-sibling::ul[1]/li/p[@class='where']")
            expect(where).to_have_count(min(5, len(better)))
            figures = [f"{abs(apart[name]):.3f}".lstrip("0") for name in better[:5]]
            assert [text.split(": ")[1].lstrip("+-") for text in where.all_inner_texts()] == figures
    page.select_option("#first", "0")
    page.select_option("#second", "1")
    page.fill("#words", "q-hostile")
    page.locator("#detail .said").click()
    sides = page.locator("#detail .near > section")
    assert sides.locator(".where b").all_inner_texts() == ["A", "rank 1", "not found", "B", "rank 2", "not found"]
    assert sides.locator(".read").all_inner_texts()[-1] == f"The index reads: Instead {synthetic_reports.HOSTILE}"
    assert sides.locator(".flag").all_inner_texts() == ["<b>flag</b>"] * 2
    text = EXPLORER.documents["hostile.md"]
    assert sides.nth(0).locator("mark").evaluate_all("all => all.map(one => one.textContent)") == [text[12:42], text[42:90]]
    assert page.evaluate("window.pwned") is None
    assert page.evaluate(CONTRAST) == []


def test_everything_can_be_reached_with_keys_and_the_focus_shows(three: Path, opened: Open) -> None:
    found = opened(three).page
    found.keyboard.press("Tab")
    assert found.evaluate("document.activeElement.className") == "skip"
    reached = []
    for _ in range(80):
        found.keyboard.press("Tab")
        reached.append(found.evaluate("document.activeElement.id || document.activeElement.tagName"))
        outline = found.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none" or reached[-1] in ("BODY", "main")
        if reached[-1] == "words":
            break
    assert {"first", "second", "words"} <= set(reached)
    for _ in range(5):
        found.keyboard.press("Tab")
    assert found.evaluate("document.activeElement.dataset.row") == "0"
    for key, row in (("ArrowDown", "1"), ("End", "19"), ("ArrowUp", "18"), ("Home", "0"), ("ArrowDown", "1")):
        found.keyboard.press(key)
        assert found.evaluate("document.activeElement.dataset.row") == row
    found.keyboard.press("Enter")
    found.locator("#list button[aria-current=true][data-row='1']").wait_for()
    assert found.evaluate("document.activeElement.id") == "detail"
