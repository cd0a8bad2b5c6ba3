"""What a folder of documents holds, the questions that were made of it, and the report of a generated golden set."""

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rag.authoring.generation.generate import Generated
from rag.core.figures import amount, figure
from rag.documents.manifest import ManifestLine
from rag.reporting.terminal.output import escape, next_commands, out, print_line, print_pairs, shortened, table

SHOWN, REASONS, FEW = 5, 4, 0.05
"""Questions that are shown; reasons why files are left out; the least share of a language."""
LONGEST = 100
"""Characters of a question or an answer."""
PEOPLE = ".67 in SQuAD 2.0 (sentence), .64 in mtRAG (passage)"
"""Word overlap of people's questions with their evidence."""


def generated(made: Generated, report: Mapping[str, Any], overrides: Sequence[str]) -> None:
    """Print counts by kind, examples, reasons of dropped candidates and the figures of a set, which `overrides` name."""
    print_line(f"{amount(report['questions'], 'question')} in {amount(report['clusters'], 'section')}: {report['path']}")
    printed = table("kind", "for example", "questions", words=2)
    for kind, count in sorted(report["kinds"].items(), key=lambda each: -each[1]):
        texts = [candidate.text for candidate in made.questions.values() if candidate.kind == kind]
        printed.add_row(escape(kind), escape(texts[0]), f"{count:,}")
    out.print(printed)
    proposed, dropped = sum(report["proposed"].values()), sum(report["dropped"].values())
    print_line(f"Proposed: {proposed:,}; dropped: {dropped:,}; not needed: {report['unread']:,}.")
    print_pairs(
        (f"  {escape(reason)}", f"{count:,}") for reason, count in sorted(report["dropped"].items(), key=lambda each: -each[1])
    )
    print_pairs(
        (f"  {name}", figure)
        for name, figure in (
            ("word overlap with the evidence", f"{figure(report['word_overlap'])}; people: {PEOPLE}"),
            ("answered by another passage as well", figure(report["answered_elsewhere"])),
            ("answerable without the evidence", figure(report["answerable_without_evidence"])),
            ("solved by every trial of the probe", figure(report["solved_by_all"])),
            ("solved by no trial of the probe", figure(report["solved_by_none"])),
        )
    )
    for note in made.notes:
        print_line(f"Note: {note}.")
    next_commands([shlex.join(["rag", "data", "check", "native", *overrides])])


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
