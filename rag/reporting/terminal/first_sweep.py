"""What a folder of documents holds, and some of the questions that were made about it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rag.analysis.ingestion.ingest import Ingestion
from rag.core.figures import amount
from rag.reporting.terminal.output import print_line, shortened

SHOWN, REASONS = 5, 4
"""Questions that are shown; reasons why files are left out."""
LONGEST = 100
"""Characters of a question or an answer."""


def read(done: Ingestion, language: str) -> None:
    """Print how many files were read and left out, and the most frequent reasons."""
    kept = sum(line.characters > 0 for line in done.files)
    text = f"{kept:,} of {amount(len(done.files), 'file')} read: {done.coverage.characters:,} characters, {language}"
    print_line(f"{done.folder}: {text}.")
    reasons = Counter(line.detail or line.reason or "no text" for line in done.files if not line.characters)
    for reason, count in reasons.most_common(REASONS):
        print_line(f"  left out: {amount(count, 'file')}: {shortened(reason, LONGEST)}")
    if len(reasons) > REASONS:
        print_line(f"  {len(reasons) - REASONS} further reasons: rag data ingest {done.folder}")


def asked(path: Path, rows: Sequence[Mapping[str, Any]], kept: bool) -> None:
    """Print how many questions there are, and five from all over them with their answers."""
    print_line(f"{amount(len(rows), 'question')} {'that are there' if kept else 'by rules'}: {path}; for example")
    for row in rows[:: max(len(rows) // SHOWN, 1)][:SHOWN]:
        answer = "; ".join(map(str, row.get("answers") or ())) or "(the documents do not say)"
        print_line(f"  {shortened(row['text'], LONGEST)}\n    {shortened(answer, LONGEST)}")
