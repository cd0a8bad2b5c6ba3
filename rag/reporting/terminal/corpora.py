"""The counts of `rag data inspect`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rag.analysis.corpus_view import CorpusView
from rag.analysis.text_flags import FLAGS, OF_CHUNKS
from rag.core.figures import amount
from rag.reporting.terminal.output import escape, out, print_line, table

SHOWN = 10
"""Failures, and joins that are no match, that are printed; the page and --json list more."""


def inspected(view: CorpusView, page: Path, left_out: int) -> None:
    """Print the flags of documents and chunks as a table, and the path of the page."""
    found = view.to_json()
    chunkers = found["chunkers"].values()
    shown = table("flag", "documents", *view.chunkers, breaks=True)
    for flag in FLAGS:
        of_documents = "" if flag in OF_CHUNKS else f"{found['flags'][flag]:,}"
        shown.add_row(flag, of_documents, *(f"{chunker['flags'][flag]:,}" for chunker in chunkers))
    if found["gold"]:
        shown.add_row("gold cut", "", *(f"{chunker['gold_cut']:,}" for chunker in chunkers))
    if found["rows"]:
        shown.add_row("rows parted", f"of {found['rows']:,}", *(f"{chunker['rows_parted']:,}" for chunker in chunkers))
    shown.add_row("all", f"{found['documents']:,}", *(f"{chunker['chunks']:,}" for chunker in chunkers))
    out.print(shown)
    if "records" in found:
        _records(found["records"])
    sums = [amount(found[name], name[:-1]) for name in ("pages", "blocks") if found[name]]
    sums += [f"{escape(rule)} redacted {count:,} times" for rule, count in found["redactions"].items()]
    if sums:
        out.print(", ".join(sums))
    if left_out:
        print_line(f"The texts of {amount(left_out, 'document')} are left out of the page.")
    print_line(f"Page: {page}")


def _records(found: Mapping[str, Any]) -> None:
    """Print how many records have each field, what could not be filled, and the joins with a roster."""
    for each in found["tables"]:
        shown = table(escape(each["name"]), "type", f"filled of {each['records']:,}", "failed", breaks=True)
        for field in each["fields"]:
            shown.add_row(escape(field["name"]), field["type"], f"{field['filled']:,}", str(field["failed"] or ""))
        out.print(shown)
    lines = [f"{one['doc_id']}: {one['field']} {one['why']}" for one in found["failures"][:SHOWN]]
    lines += ["Roster: " + ", ".join(f"{count:,} {status}" for status, count in found["reconciled"].items()) or "none"]
    for one in found["unmatched"][:SHOWN]:
        lines.append(f"{one['record_id']}: {one['status']}, {', near '.join([one['detail'], *one['near']])}")
    print_line("\n".join(lines))
