"""What a store and a golden set hold."""

from collections.abc import Mapping, Sequence
from typing import Any

from rag.components.loaders.file_tree import Skipped, tally
from rag.evaluation.data.validation import DatasetCheck
from rag.reporting.terminal.line_input import Typed
from rag.reporting.terminal.output import Table, escape, number, out, stream

FEWEST = 6
"""Clusters that a difference needs: the smallest p-value of sign flips is 2 ** (1 - clusters)."""


def spaces(found: Mapping[str, Any]) -> None:
    """What a store holds."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("space", "entries", "MB"):
        table.add_column(name, justify="left" if name == "space" else "right")
    for space, held in found["spaces"].items():
        table.add_row(escape(space), f"{held['entries']:,}", f"{held['bytes'] / 1e6:,.1f}")
    out.print(table)
    if (old := found.get("old")) and old["entries"]:
        size = f"{old['entries']:,} stage results ({old['bytes'] / 1e6:,.1f} MB) are of other versions of the code"
        out.print(f"{size}: rag store gc --old removes them.", soft_wrap=True)


def skipped(files: Sequence[Skipped]) -> None:
    """The files of a corpus that were not read, and why."""
    reasons: dict[str, list[str]] = {}
    for one in files:
        reasons.setdefault(one.detail or one.reason, []).append(one.name)
    for reason, names in reasons.items():
        out.print(f"not read: {escape(reason)}: {escape(', '.join(names))}", soft_wrap=True)


def accepted(diff: str, count: int) -> bool:
    """Show a diff and ask whether to write it; the end of input is a no."""
    stream(diff)
    out.print(f"Write {count} {'quote' if count == 1 else 'quotes'}? [bold]y[/bold] yes, [bold]n[/bold] no")
    return (Typed().read() or "n").strip().lower() in ("y", "yes")


def dataset(name: str, found: DatasetCheck) -> None:
    """What a golden set holds, and what its size can show."""
    out.print(f"[bold]{escape(name)}[/bold]: {found.documents} documents, {found.characters:,} characters")
    if found.skipped:
        out.print(escape(f"{tally(found.documents, found.skipped)}."), soft_wrap=True)
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("kind")
    splits = [split for split in found.splits if split != "all"]
    for split in (*splits, "all"):
        table.add_column(escape(split), justify="right")
    for kind, counts in found.kinds.items():
        table.add_row(escape(kind or "–"), *(str(counts.get(split, 0)) for split in splits), str(sum(counts.values())))
    out.print(table)
    if found.dealing:
        out.print(escape(found.dealing))
    for split, size in zip(map(escape, found.splits), found.splits.values(), strict=True):
        least = "–" if size.smallest_difference is None else number(size.smallest_difference)
        out.print(f"{split}: {size.questions} questions, {size.clusters} clusters; smallest difference it can show: {least}")
        if size.clusters < FEWEST:
            out.print(f"{split}: with fewer than {FEWEST} clusters no test at 5 % can find anything, however large.")
    out.print(f"[dim](80 % power, two-sided 5 %, paired differences with standard deviation {found.assumed_deviation})[/dim]")
    _without_evidence(found.without_evidence)
    for twin in found.twins:
        out.print(
            f"near-duplicates: {escape(twin.first)} ~ {escape(twin.second)}" + (" across splits" if twin.across_splits else "")
        )
    for stray in found.strays:
        out.print(f"quote of {escape(stray.query_id)} also stands in {escape(', '.join(stray.elsewhere))}")
    for cluster in found.clusters_across_splits:
        out.print(f"cluster {escape(cluster)} stands in several splits")


def _without_evidence(ids: Sequence[str]) -> None:
    if ids:
        some = ", ".join(ids[:5]) + (", …" if len(ids) > 5 else "")
        told = f"{len(ids)} with answers and no evidence ({some}): replies are compared with the answers, and"
        remedy = 'Add evidence, or "unanswerable": true where the corpus cannot answer.'
        out.print(escape(f"{told} nothing is said about retrieval or about declining. {remedy}"), soft_wrap=True)
