"""The counts of `rag inspect`."""

from pathlib import Path

from rag.analysis.corpus_view import CorpusView
from rag.analysis.text_flags import FLAGS, OF_CHUNKS
from rag.reporting.terminal.output import amount, escape, out, print_line, table


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
    sums = [amount(found[name], name[:-1]) for name in ("pages", "blocks") if found[name]]
    sums += [f"{escape(rule)} redacted {count:,} times" for rule, count in found["redactions"].items()]
    if sums:
        out.print(", ".join(sums))
    if left_out:
        print_line(f"The texts of {amount(left_out, 'document')} are left out of the page.")
    print_line(f"Page: {page}")
