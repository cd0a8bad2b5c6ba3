"""The page of a manifest: filters, hostile names, narrow windows."""

from collections.abc import Callable
from pathlib import Path

import pytest
from reporting.html.conftest import Opened
from support.chromium import CONTRAST

from rag.analysis.ingestion.coverage import coverage
from rag.analysis.ingestion.ingest import Ingestion
from rag.documents.manifest import ManifestLine
from rag.reporting.html import manifest_page

Open = Callable[..., Opened]
HOSTILE = "<img src=x onerror=window.pwned=1></th><script>window.pwned=1</script>.md"


def written(count: int, folder: Path) -> Path:
    lines = [
        ManifestLine(f"a/{n:04}.md", 10 * n, "2026-01-02T03:04:05+00:00", "md", "ab" * 32, "TextParser", "included", chunks=3)
        for n in range(count)
    ]
    lines.append(ManifestLine(HOSTILE, decision="excluded", reason=HOSTILE, rule="rules.3", type="md"))
    lines.append(
        ManifestLine("b/scan.pdf", type="pdf", decision="failed", reason="too large", detail=HOSTILE, notes=("2 pages",))
    )
    done = Ingestion(
        HOSTILE, "What <b>this</b> is for.", (), tuple(lines), coverage(lines, {}, ["rules.0", "rules.3"]), is_dry=True
    )
    manifest_page.write(done, path := folder / "new" / "manifest.html")
    return path


@pytest.mark.parametrize("width", [420, 1280])
def test_a_manifest_is_filtered_and_shows_hostile_names_as_text(tmp_path: Path, opened: Open, width: int) -> None:
    path = written(1000 if width > 1000 else 12, tmp_path)
    total = 1002 if width > 1000 else 14
    found = opened(path, viewport={"width": width, "height": 800})
    page = found.page
    assert found.errors == []
    assert [url for url in found.requests if not url.startswith("data:")] == [path.as_uri()]
    assert page.evaluate("window.pwned") is None
    assert page.locator("img").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") == width, "the table scrolls, not the page"
    assert page.evaluate(CONTRAST) == []

    def shown() -> int:
        count = int(page.inner_text("#count").split()[0].replace(",", ""))
        assert page.locator("#files tbody tr:visible").count() == count
        return count

    assert shown() == total
    page.select_option("#decision", label="failed")
    assert shown() == 1
    assert HOSTILE in page.inner_text("#files tbody tr:visible")
    page.select_option("#decision", "")
    page.select_option("#type", label="pdf")
    assert shown() == 1
    page.select_option("#type", "")
    page.fill("#words", "0007 INCLUDED")
    assert shown() == 1
    page.fill("#words", "rules.3")
    assert shown() == 1
    page.fill("#words", "nothing has this")
    assert shown() == 0
