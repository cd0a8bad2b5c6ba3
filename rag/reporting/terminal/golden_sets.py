"""Versions of golden sets, and the drift of their quotes."""

from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher

from rag.authoring.review.drift import Drift
from rag.authoring.review.set_diff import SetDiff
from rag.reporting.terminal.line_input import Typed
from rag.reporting.terminal.output import amount, escape, out, print_line

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
        print_line("`rag dataset fix` shows new quotes and writes those that you accept.")
    if waiting:
        methods = ", ".join(f"{count:,} {method or 'of no method'}" for method, count in waiting.items())
        print_line(f"Not reviewed: {methods}. `rag dataset review` shows them one by one.")


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
        lines.append(f"`rag compare --bridge questions` pairs the {found.same} questions with the same id and content.")
    else:
        lines.append("All digests of the questions stay the same: results of both versions can be compared.")
    for line in lines:
        print_line(line)
