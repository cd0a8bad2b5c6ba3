"""The manifest of a folder as one HTML file that opens from a disk: a table with filters, and the coverage."""

from collections import Counter
from pathlib import Path

from rag.analysis.ingestion.coverage import DENSE, HUGE, TINY
from rag.analysis.ingestion.ingest import Ingestion
from rag.core.files import replace_text
from rag.reporting.html import page

EXAMPLES = 50
"""Outliers and groups of duplicates that are listed."""


def write(done: Ingestion, path: Path) -> None:
    """Write the page; OSError if it cannot be written."""
    replace_text(path, render(done), errors="replace")


def render(done: Ingestion) -> str:
    """The page. Names of files, reasons and errors are escaped."""
    known = [file.seconds_to_embed for file in done.files if file.seconds_to_embed is not None]
    return page.page_of(
        "manifest.html",
        ["page.css", "manifest.css"],
        ["manifest.js"],
        done=done,
        found=done.coverage,
        decisions=Counter(line.decision for line in done.files).most_common(),
        types=sorted({line.type for line in done.files}),
        chunks=sum(file.chunks or 0 for file in done.files),
        to_parse=sum(file.seconds_to_parse or 0.0 for file in done.files),
        to_embed=sum(known) if known else None,
        limits={"tiny": TINY, "huge": HUGE, "dense": DENSE},
        examples=EXAMPLES,
    )
