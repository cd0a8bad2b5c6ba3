"""What a folder of documents holds, and some of the questions that were made about it."""

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rag.core.figures import amount
from rag.documents.manifest import ManifestLine
from rag.reporting.terminal.output import print_line, shortened

SHOWN, REASONS, FEW = 5, 4, 0.05
"""Questions that are shown; reasons why files are left out; the least share of a language."""
LONGEST = 100
"""Characters of a question or an answer."""


def read(folder: str, lines: Sequence[ManifestLine], languages: Mapping[str, float]) -> None:
    """Print how many files were read and left out, the most frequent reasons, and shares of the text by language."""
    kept = [line for line in lines if line.characters and line.decision == "included"]
    spoken = [f"{name} {share:.0%}" for name, share in languages.items() if share >= FEW]
    text = f"{len(kept):,} of {amount(len(lines), 'file')} read: {sum(line.characters for line in kept):,} characters"
    print_line(f"{folder}: {text}, {', '.join(spoken) if len(spoken) > 1 else next(iter(languages))}.")
    reasons = Counter(
        line.detail or line.reason or "no text" for line in lines if line.decision != "included" or not line.characters
    )
    for reason, count in reasons.most_common(REASONS):
        print_line(f"  left out: {amount(count, 'file')}: {shortened(reason, LONGEST)}")
    if len(reasons) > REASONS:
        print_line(f"  {len(reasons) - REASONS} further reasons: {shlex.join(['rag', 'data', 'ingest', folder])}")


def asked(path: Path, rows: Sequence[Mapping[str, Any]], kept: bool) -> None:
    """Print how many questions there are, and five from all over them with their answers."""
    print_line(f"{amount(len(rows), 'question')} {'that are there' if kept else 'by rules'}: {path}; for example")
    for row in rows[:: max(len(rows) // SHOWN, 1)][:SHOWN]:
        answer = "; ".join(map(str, row.get("answers") or ())) or "(the documents do not say)"
        print_line(f"  {shortened(row['text'], LONGEST)}\n    {shortened(answer, LONGEST)}")
