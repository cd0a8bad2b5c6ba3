"""The review of waiting questions in the terminal: each is accepted, edited or dropped."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from rag.authoring.candidates import Row
from rag.authoring.review.drafts import Draft, Opinion
from rag.authoring.review.review_loop import Review
from rag.core.errors import UserError
from rag.documents.folder.json_rows import parse_row
from rag.reporting.terminal.line_input import Typed, edit
from rag.reporting.terminal.output import err, escape, out

CHOICES = "  ".join(f"[bold]{word[0]}[/bold] {word}" for word in ("accept", "edit", "drop", "skip", "undo", "quit"))
LINES = 3
"""Lines of a document that are shown before and after a quote."""

FORM = 'evidence, all groups needed, any place of one: [{"any": [{"doc": "leave.md", "quote": "its exact words"}]}]'


def reviewed(review: Review, name: str, asking: bool = True) -> None:
    """Ask a reviewer to decide on everything that waits; what is skipped, or comes after `q`, keeps waiting."""
    typed, names, at = Typed(), list(review.waiting) if asking else [], 0
    while at < len(names):
        if names[at] not in review.waiting:  # another reviewer has decided it
            at += 1
            continue
        out.print(f"\n[bold]{at + 1:,} of {len(names):,}[/bold]  {_about(review.waiting[names[at]])}")
        _print_item(review.look(names[at]), review.waiting[names[at]].opinion)
        choice, back = _decided(review, names[at], typed)
        if choice == "q":
            break
        at = names.index(back) if back in names else at + 1
    counts = f"{len(review.accepted)} written to {name}, {len(review.dropped)} dropped, {len(review.waiting)} waiting."
    out.print(("\n" if names else "") + escape(counts), soft_wrap=True)


def _decided(review: Review, name: str, typed: Typed) -> tuple[str, str]:
    """Decide on one question; the choice, and after an undo the name of the question that waits again."""
    row = None
    while True:
        out.print(CHOICES)
        choice = (typed.read() or "q").strip().lower()[:1]
        try:
            if choice == "a":
                review.accept(name, row)
            elif choice == "d":
                review.drop(name)
            elif choice == "e":
                row = _edited_again(review, name, row)
            if choice and choice in "adsq":
                return choice, ""
            if choice == "u":
                return choice, review.undo()
        except UserError as error:
            err.print(f"[red]{escape(str(error))}[/red]", soft_wrap=True)
            if name not in review.waiting:
                return "s", ""


def _edited_again(review: Review, name: str, row: Row | None) -> Row:
    out.print(f"[dim]{escape(FORM)}[/dim]", soft_wrap=True)
    row = edited(row or review.waiting[name].row)
    _line("question", row.get("text", "–"), "bold")
    _print_question(row)
    # An edited row may hold anything as evidence.
    _line("evidence", json.dumps(row.get("evidence"), ensure_ascii=False))
    if wrong := review.refusal(name, row):
        err.print(f"[red]{escape(wrong)}[/red]", soft_wrap=True)
    return row


def edited(row: Row) -> Row:
    """Edit a question in the editor that VISUAL or EDITOR name; UserError if the result is not a JSON object."""
    text = edit(json.dumps(row, indent=1, ensure_ascii=False) + "\n", "question.json")
    return dict(parse_row(text, "question").fields)


def _about(draft: Draft) -> str:
    if opinion := draft.opinion:
        rated = "[green]rated good[/green]" if opinion.rating > 0 else "[red]rated bad[/red]"
        when = datetime.fromtimestamp(opinion.at, UTC).strftime("%Y-%m-%d %H:%M UTC")
        return f"{rated} by {escape(opinion.owner)}, {when}  [dim]{opinion.answer}[/dim]"
    made = draft.row["provenance"]
    origin = " ".join(str(made[key]) for key in ("method", "author", "at") if made.get(key))
    return f"{escape(origin)}  [dim]{escape(draft.name)}[/dim]"


def _print_item(item: Mapping[str, Any], opinion: Opinion | None) -> None:
    row = item["row"]
    for turn in row.get("history") or ():
        _line("before" if turn.get("role") == "user" else "", turn.get("text", ""), "dim")
    _line("question", item.get("question", row.get("text", "–")), "bold")
    if opinion:
        _line("reply", item["reply"].strip() or "–")
        if opinion.comment:
            _line("comment", opinion.comment, "italic")
        for context in item["contexts"]:
            _line(f"[{context['number']}]", f"{context['doc_id']}:{context['start']}-{context['end']}", "dim")
            if item["open"]:
                # The reviewer still has to quote something from it.
                out.print(f"[dim]{escape(context['text'].strip())}[/dim]", soft_wrap=True)
    _print_question(row)
    for number, group in enumerate(item["evidence"], 1):
        for place in group:
            _print_place(f"evidence {number}" if len(item["evidence"]) > 1 else "evidence", place)
    for remark in (*item["open"], *item["notes"]):
        out.print(f"[yellow]{escape(remark)}[/yellow]", soft_wrap=True)


def _print_question(row: Row) -> None:
    """Print a question as it would be written, without the parts printed before or after."""
    for name in ("id", "kind", "split", "cluster", "answers", "expects"):
        if row.get(name):
            _line(name, " | ".join(map(str, row[name])) if isinstance(row[name], list) else row[name])


def _print_place(name: str, place: Mapping[str, Any]) -> None:
    """Print a quote, marked, with a few lines of its document around it."""
    where = ", ".join(filter(None, (place["doc"], place.get("page"), place.get("heading"))))
    _line(name, where, "dim")
    if place["problem"]:
        _line("", place["quote"], "red strike")
        out.print(f"[red]{escape(place['problem'])}[/red]\n[yellow]{escape(place['near'])}[/yellow]", soft_wrap=True)
        return
    before, after = "\n".join(place["before"].split("\n")[-LINES:]), "\n".join(place["after"].split("\n")[:LINES])
    out.print(
        f"[dim]{escape(before)}[/dim][reverse]{escape(place['quote'])}[/reverse][dim]{escape(after)}[/dim]", soft_wrap=True
    )


def _line(name: str, text: Any, style: str = "default") -> None:
    out.print(f"[cyan]{escape(name):>9}[/cyan]  [{style}]{escape(str(text))}[/{style}]", soft_wrap=True)
