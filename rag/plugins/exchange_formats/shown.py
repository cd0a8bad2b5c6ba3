"""Reports of golden sets that were imported or exported."""

import shlex
from collections.abc import Mapping
from pathlib import Path

from rag.config.compose import written
from rag.core.figures import amount
from rag.plugins.exchange_formats.imports import Report
from rag.reporting.terminal.output import next_commands, print_line

SHOWN = 5
"""Lines of a list that are shown; --json has all."""


def imported(report: Report, documents: str) -> None:
    """Print what became of the rows of a file."""
    print_line(f"{report.source}: {report.format}, {amount(report.rows, 'row')} → {amount(report.questions, 'question')}.")
    counted = ", ".join(f"{count} {how}" for how, count in sorted((+report.anchored).items()))
    print_line(f"Evidence: {counted or 'none'}; {amount(len(report.not_found), 'passage')} not found.")
    if report.documents:
        print_line(f"{amount(report.documents, 'document')} written: the file's own texts, so nothing else competes with them.")
    if report.without_evidence:
        print_line(f"{amount(report.without_evidence, 'question')} without evidence: only metrics of answers apply.")
    for title, lines in (("Not found", report.not_found), ("Refused", report.refused), ("Notes", report.notes)):
        if lines:
            print_line(f"{title} ({len(lines)}):")
            for line in lines[:SHOWN]:
                print_line(f"  {line}")
    own = [written("dataset.path", report.folder), *([written("loader.path", documents)] if documents else ())]
    next_commands([shlex.join(["rag", "data", "check", "native", *own])])


def exported(folder: Path, questions: int, lost: Mapping[str, int]) -> None:
    """Print where a set was written, and what its format does not hold."""
    print_line(f"{amount(questions, 'question')} written to {folder}.")
    for name, count in lost.items():
        print_line(f"Not held by this format: {name} ({amount(count, 'question')}).")
