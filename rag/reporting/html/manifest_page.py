"""The manifest of a folder as one HTML file that opens from a disk: a table with filters, and the coverage."""

from collections import Counter
from pathlib import Path

from markupsafe import Markup

from rag.analysis.ingestion.coverage import DENSE, HUGE, TINY
from rag.analysis.ingestion.ingest import Ingestion
from rag.core.errors import StoreError
from rag.core.files import replace_text
from rag.reporting.html.page import environment, policy, shipped

EXAMPLES = 50
"""Outliers and groups of duplicates that are listed."""


def write(done: Ingestion, path: Path) -> None:
    """Write the page; StoreError if it cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_text(path, render(done), errors="replace")
    except OSError as error:
        raise StoreError(str(path), f"cannot be written ({error.strerror})", "name another place: --html FILE") from error


def render(done: Ingestion) -> str:
    """The page. Names of files, reasons and errors are escaped."""
    style, script = shipped("page.css") + shipped("manifest.css"), shipped("manifest.js")
    known = [file.seconds_to_embed for file in done.files if file.seconds_to_embed is not None]
    return (
        environment()
        .get_template("manifest.html")
        .render(
            done=done,
            found=done.coverage,
            decisions=Counter(line.decision for line in done.files).most_common(),
            types=sorted({line.type for line in done.files}),
            chunks=sum(file.chunks or 0 for file in done.files),
            to_parse=sum(file.seconds_to_parse or 0.0 for file in done.files),
            to_embed=sum(known) if known else None,
            limits={"tiny": TINY, "huge": HUGE, "dense": DENSE},
            examples=EXAMPLES,
            style=Markup(style),  # noqa: S704 (files of this package)
            script=Markup(script),  # noqa: S704 (a file of this package)
            policy=policy(style, script),
        )
    )
