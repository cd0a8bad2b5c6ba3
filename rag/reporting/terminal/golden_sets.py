"""Versions of golden sets, the drift of their quotes, questions that need a review, and corpora."""

from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from rich.padding import Padding

from rag.analysis.corpus_view import CorpusView
from rag.analysis.dataset_health import Finding, Health
from rag.analysis.text_flags import FLAGS, OF_CHUNKS
from rag.authoring.review.drift import Drift
from rag.authoring.review.set_diff import SetDiff
from rag.core.figures import amount
from rag.reporting.terminal.line_input import Typed
from rag.reporting.terminal.output import escape, out, print_line, table

FEW = 20
"""Lines of a kind that are printed; --json has all."""
MEANING = {
    "there": "has changed and still has the quote",
    "moved": "has the quote no more: it is in",
    "reworded": "has the quote in other words, in",
    "changed": "has the quote with other facts, in",
    "gone": "has the quote no more, and nothing like it",
}


def drift(found: Sequence[Drift], waiting: Mapping[str, int]) -> None:
    """Print the questions that changed documents touch, and how many questions wait for a review."""
    for state, meaning in MEANING.items():
        these = [each for each in found if each.state == state]
        for each in these[:FEW]:
            print_line(f"{each.query_id}: {each.doc_id} {meaning} {', '.join(each.to)}".rstrip())
            _words(each)
        if len(these) > FEW:
            print_line(f"and {amount(len(these) - FEW, 'more quote')} like this: --json has all")
    if any(each.state != "there" for each in found):
        print_line("`rag data fix` shows new quotes and writes those that you accept.")
    if waiting:
        methods = ", ".join(f"{count:,} {method or 'of no method'}" for method, count in waiting.items())
        print_line(f"Not reviewed: {methods}. `rag data review` shows them one by one.")


def takes(found: Drift, typed: Typed) -> bool:
    """Show a quote and its new words, and ask whether they are right; the end of input is a no."""
    print_line(f"{found.query_id}: {found.doc_id}" + (f" → {found.to[0]}" if found.to != (found.doc_id,) else ""))
    _words(found)
    out.print("Take the new words? [bold]y[/bold] yes, [bold]n[/bold] no")
    return (typed.read() or "n").strip().lower() in ("y", "yes")


def _words(found: Drift) -> None:
    """Print a quote and its new words, if there are any, with the differences marked as in git diff --word-diff."""
    if not found.new:
        return
    old, new, shown = found.quote.split(), found.new.split(), list[str]()
    for kind, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        before, after = escape(" ".join(old[a:b])), escape(" ".join(new[c:d]))
        removed, added = (f"[red]\\[-{before}-][/red]" if before else "", f"[green]{{+{after}+}}[/green]" if after else "")
        shown += [after] if kind == "equal" else filter(None, (removed, added))
    out.print("  " + " ".join(shown), soft_wrap=True)
    if found.state == "changed":
        lost, gained = (escape(", ".join(each)) or "–" for each in found.facts)
        out.print(f"  [yellow]facts: {lost} → {gained}. Read the question again, and edit its answer.[/yellow]")


def difference(found: SetDiff) -> None:
    """Print the differences of two versions of a set, and what they mean for comparisons."""
    lines = [*(f"added: {name}" for name in found.added), *(f"removed: {name}" for name in found.removed)]
    lines += [f"renamed: {old} → {new}, with the same content" for old, new in found.renamed.items()]
    lines += [f"changed: {name}: {', '.join(parts)}" for name, parts in found.changed.items()]
    counts = (
        f"{len(found.added)} added, {len(found.removed)} removed, {len(found.renamed)} renamed, {len(found.changed)} changed"
    )
    lines.append(f"{counts}, {found.same} with the same id and content{', in another order' if found.reordered else ''}.")
    if found.digests:
        lines.append(
            f"Digests that differ: {', '.join(found.digests)}. A baseline of the old version is refused for the new one."
        )
        lines.append(f"`rag study compare --bridge questions` pairs the {found.same} questions with the same id and content.")
    else:
        lines.append("All digests of the questions stay the same: results of both versions can be compared.")
    for line in lines:
        print_line(line)


SHOWN = 8
"""Questions of a list that a terminal shows; all of them are in the JSON."""


def health(found: Health) -> None:
    """Print every list with its length and first questions, and what was not checked."""
    trials = f"{found.finished} of {amount(found.trials, 'trial')} finished"
    out.print(f"[bold]{escape(found.dataset)}[/bold]: {amount(found.questions, 'question')}, {trials}", soft_wrap=True)
    for remark in found.told:
        out.print(f"[yellow]{escape(remark)}[/yellow]")
    _listed("Worded nearly alike in two splits", found.near_duplicates)
    _listed("Gives itself away by its words", found.give_aways)
    if found.finished:
        _listed("Gold may be wrong or incomplete", found.suspects)
        _listed("Solved by no trial", found.unsolved)
        _listed("Solved by every trial", found.always_solved, shown=0)


def _listed(title: str, findings: Sequence[Finding], shown: int = SHOWN) -> None:
    out.print(f"\n[bold]{title}[/bold]: {len(findings) or 'none'}")
    for finding in findings[:shown]:
        out.print(Padding(f"[cyan]{escape(finding.query_id)}[/cyan] {escape(finding.text)}", (0, 2), expand=False))
        out.print(Padding(f"[dim]{escape(finding.why)}[/dim]", (0, 6), expand=False))
    if not shown and findings:
        out.print(Padding(escape(", ".join(finding.query_id for finding in findings)), (0, 2), expand=False))
    elif len(findings) > shown:
        out.print(Padding(f"… and {len(findings) - shown} more: --json has all", (0, 2), expand=False))


LISTED = 10
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
    lines = [f"{one['doc_id']}: {one['field']} {one['why']}" for one in found["failures"][:LISTED]]
    lines += ["Roster: " + ", ".join(f"{count:,} {status}" for status, count in found["reconciled"].items()) or "none"]
    for one in found["unmatched"][:LISTED]:
        lines.append(f"{one['record_id']}: {one['status']}, {', near '.join([one['detail'], *one['near']])}")
    print_line("\n".join(lines))
