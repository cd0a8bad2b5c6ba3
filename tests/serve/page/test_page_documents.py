"""Many documents in nested folders: filtered, opened and switched by mouse, keyboard and touch."""

from collections.abc import Callable, Iterator

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
