"""The contents of a store and of a golden set."""

from collections.abc import Mapping, Sequence
from typing import Any

from rag.core.figures import amount, figure
from rag.documents.folder.file_tree import Skipped, tally
from rag.evaluation.data.validation import WORDS, DatasetCheck, fates_in_words
from rag.reporting.terminal.line_input import Typed
from rag.reporting.terminal.output import escape, out, print_line, print_table, stream, table

FEW = 20
"""Quotes in pieces that are listed; --json has all."""
FEWEST = 6
"""Clusters that a difference needs: the smallest p-value of sign flips is 2 ** (1 - clusters)."""


def spaces(found: Mapping[str, Any]) -> None:
    """Print the entries and sizes of a store."""
    held = found["spaces"].items()
    rows = ((escape(space), f"{each['entries']:,}", f"{each['bytes'] / 1e6:,.1f}") for space, each in held)
    print_table(("space", "entries", "MB"), rows)
    if (old := found.get("old")) and old["entries"]:
        size = f"{old['entries']:,} stage results ({old['bytes'] / 1e6:,.1f} MB) are of other versions of the code"
        print_line(f"{size}: rag study store gc --old removes them.")


def skipped(files: Sequence[Skipped]) -> None:
    """Print the files of a corpus that were not read, with the reasons."""
    reasons: dict[str, list[str]] = {}
    for file in files:
        reasons.setdefault(file.detail or file.reason, []).append(file.name)
    for reason, names in reasons.items():
        out.print(f"not read: {escape(reason)}: {escape(', '.join(names))}", soft_wrap=True)


def accepts(diff: str, count: int) -> bool:
    """Print a diff and ask whether to write it; the end of input is a no."""
    stream(diff)
    what = amount(count, "quote") if count else "that the quotes are in the present documents"
    out.print(f"Write {what}? [bold]y[/bold] yes, [bold]n[/bold] no")
    return (Typed().read() or "n").strip().lower() in ("y", "yes")


def dataset(name: str, found: DatasetCheck) -> None:
    """Print the counts of a golden set, the smallest differences it can show, and what deserves a look."""
    out.print(f"[bold]{escape(name)}[/bold]: {found.documents} documents, {found.characters:,} characters")
    if found.skipped:
        out.print(escape(f"{tally(found.documents, found.skipped)}."), soft_wrap=True)
    splits = [split for split in found.splits if split != "all"]
    kinds = table("kind", *splits, "all", breaks=True)
    for kind, counts in found.kinds.items():
        kinds.add_row(escape(kind or "–"), *(str(counts.get(split, 0)) for split in splits), str(sum(counts.values())))
    out.print(kinds)
    if found.dealing:
        out.print(escape(found.dealing))
    for split, size in zip(map(escape, found.splits), found.splits.values(), strict=True):
        least = "–" if size.smallest_difference is None else figure(size.smallest_difference)
        out.print(f"{split}: {size.questions} questions, {size.clusters} clusters; smallest difference it can show: {least}")
        if size.clusters < FEWEST:
            out.print(f"{split}: with fewer than {FEWEST} clusters no test at 5 % can find anything, however large.")
    out.print(f"[dim](80 % power, two-sided 5 %, paired differences with standard deviation {found.assumed_deviation})[/dim]")
    if found.routes:
        listed = ", ".join(f"{count} {route}" for route, count in found.routes.items())
        print_line(f"Golden routes: {listed}. Retrieval is not measured for those that records answer.")
    _without_evidence(found.without_evidence)
    _quotes(found)
    for twin in found.twins:
        where = " across splits" if twin.across_splits else ""
        out.print(f"near-duplicates: {escape(twin.first)} ~ {escape(twin.second)}{where}")
    for stray in found.strays:
        out.print(f"quote of {escape(stray.query_id)} is also in {escape(', '.join(stray.elsewhere))}")
    for cluster in found.clusters_across_splits:
        out.print(f"cluster {escape(cluster)} is in several splits")


def _quotes(found: DatasetCheck) -> None:
    """Print how many quotes were found, and those that are lost or in pieces; nothing if all are exact."""
    if said := fates_in_words(found.fates):
        print_line(f"Quotes in documents: {said}. A quote that is lost or not placed counts as evidence that is never found.")
    for quote in found.lost:
        print_line(f"{quote.query_id}: the quote of {quote.doc_id} is {WORDS[quote.fate]}: {quote.rule}")
    if found.pieced:
        listed = ", ".join(f"{query_id} ({doc_id})" for query_id, doc_id in found.pieced[:FEW])
        print_line(f"in pieces, or by words: {listed}{', …' if len(found.pieced) > FEW else ''}")


def _without_evidence(ids: Sequence[str]) -> None:
    if ids:
        some = ", ".join(ids[:5]) + (", …" if len(ids) > 5 else "")
        what = f"{len(ids)} with answers and no evidence ({some}): replies are compared with the answers, and"
        remedy = 'Add evidence, or "unanswerable": true where the corpus cannot answer.'
        print_line(f"{what} nothing is said about retrieval or about declining. {remedy}")
