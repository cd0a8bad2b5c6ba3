"""The report of a generated golden set."""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from rag.authoring.generation.generate import Generated
from rag.core.figures import amount, figure
from rag.reporting.terminal.output import escape, next_commands, out, print_line, print_pairs, table

EXAMPLES = 2
"""Questions of each kind that are shown."""
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
