"""Many documents in nested folders: filtered, opened and switched by mouse, keyboard and touch."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import expect
from support.page_server import Opened, PageServer, page_server, say

Open = Callable[..., Opened]
FOLDERS = ("guide", "guide/plug-ins/writing", "reference/api/of/everything")
TEXTS = (
    {
        f"{folder}/page-{number:02}.md": f"# About {folder.rpartition('/')[2]} {number} {{ #p{number} }}\n\nIt is {number}.\n"
        for folder in FOLDERS
        for number in range(50)
    }
    | {f"{folder}/index.md": "# <span class='x'>Overview</span>\n\nIt begins here.\n" for folder in FOLDERS}
    | {"index.md": "Nothing.\n"}
)


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PageServer]:
    """A server of 154 documents."""
    lexical = ("index=[bm25s]", "fusion=single")
    with page_server(tmp_path_factory.mktemp("many"), texts=TEXTS, overrides=lexical) as found:
        found.plays(say("It is 7 [1]."))
        yield found


def asked(found: Opened) -> Any:
    """The `within` of a question."""
    with found.page.expect_request(lambda request: request.method == "POST") as sent:
        found.ask("About api 7")
    return sent.value.post_data_json["within"]


def test_folders_are_closed_and_open_with_a_click(many: PageServer, opened: Open) -> None:
    page = opened(many).page
    listed = page.locator("#documents-list")
    assert listed.locator(".fold .name").all_inner_texts() == ["guide", "reference/api/of/everything"]
    assert listed.locator(".fold .count").all_inner_texts() == ["102", "51"]
    assert listed.locator(".file .name").all_inner_texts() == ["index.md"]
    listed.locator(".fold", has_text="guide").click()
    assert listed.locator(".fold .name").all_inner_texts() == ["guide", "plug-ins/writing", "reference/api/of/everything"]
    expect(listed.locator(".file")).to_have_count(52)
    assert listed.locator(".file .name").nth(1).inner_text() == "About guide 0"
    assert listed.locator(".file .path").nth(1).inner_text() == "page-00.md"
    listed.locator(".fold", has_text="guide").click()
    expect(listed.locator(".file")).to_have_count(1)
    page.fill("#documents-filter", "api/of page-07")
    assert listed.locator(".file .name").all_inner_texts() == ["About everything 7"]


def test_a_folder_is_switched_with_its_documents(many: PageServer, opened: Open) -> None:
    found = opened(many)
    page = found.page
    page.get_by_label("Search in the folder guide", exact=True).uncheck()
    assert page.inner_text("#documents-count") == "52 of 154 documents on"
    page.get_by_role("button", name="guide").click()
    page.get_by_label("Search in the folder guide/plug-ins/writing").check()
    assert page.get_by_label("Search in the folder guide", exact=True).evaluate("box => box.indeterminate && !box.checked")
    within = asked(found)
    assert len(within["documents"]) == 103
    assert not [one for one in within["documents"] if one.startswith("guide/page")]
