"""The review of ratings: each becomes a golden question, is edited, or is dropped."""

import json
import os
import shlex
import subprocess
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rag.core.errors import ConfigError, UserError
from rag.datasets.candidates import Row
from rag.datasets.review.drafts import Draft
from rag.datasets.review.review_loop import Review
from rag.documents.json_rows import parse_row
from rag.reporting.terminal.line_input import Typed
from rag.reporting.terminal.output import err, escape, out

CHOICES = "[bold]a[/bold] accept, [bold]e[/bold] edit, [bold]d[/bold] drop, [bold]s[/bold] skip, [bold]q[/bold] quit"

FORM = 'evidence, all groups needed, any place of one: [{"any": [{"doc": "leave.md", "quote": "its exact words"}]}]'


def reviewed(review: Review, name: str, asking: bool = True) -> None:
    """Ask a reviewer to decide on every waiting rating; skipped ones, and those after `q` or the end of input, keep waiting."""
    typed, answers = Typed(), list(review.waiting) if asking else []
    for number, answer in enumerate(answers, 1):
        draft = review.waiting[answer]
        out.print(f"\n[bold]{number} of {len(answers)}[/bold]  {_about(draft)}")
        _print_draft(draft)
        if not _decided(review, draft, typed):
            break
    counts = f"{len(review.accepted)} written to {name}, {len(review.dropped)} dropped, {len(review.waiting)} waiting."
    out.print(("\n" if answers else "") + escape(counts), soft_wrap=True)


def _decided(review: Review, draft: Draft, typed: Typed) -> bool:
    """Decide on one rating; False to stop the review."""
    answer, row = draft.opinion.answer, None
    while True:
        out.print(CHOICES)
        choice = (typed.read() or "q").strip().lower()[:1]
        try:
            if choice == "a":
                review.accept(answer, row)
                return True
            if choice == "d":
                review.drop(answer)
                return True
            if choice == "e":
                out.print(f"[dim]{escape(FORM)}[/dim]", soft_wrap=True)
                row = edited(row or draft.row)
                _line("text", row.get("text", "–"), "bold")
                _print_question(row)
                if wrong := review.refusal(row):
                    err.print(f"[red]{escape(wrong)}[/red]", soft_wrap=True)
            elif choice in ("s", "q"):
                return choice == "s"
        except UserError as error:
            err.print(f"[red]{escape(str(error))}[/red]", soft_wrap=True)


def edited(row: Row) -> Row:
    """Edit a question in the editor that VISUAL or EDITOR name; UserError if the result is not a JSON object."""
    command = shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "question.json")
        path.write_text(json.dumps(row, indent=1, ensure_ascii=False) + "\n", "utf-8")
        try:
            subprocess.run([*command, str(path)], check=True)
            text = path.read_text("utf-8")
        except (OSError, ValueError, subprocess.CalledProcessError) as error:
            raise ConfigError("EDITOR", f"{command[0]!r} cannot be used ({error})", "name another in EDITOR") from error
    return dict(parse_row(text, "question").fields)


def _about(draft: Draft) -> str:
    opinion = draft.opinion
    rated = "[green]rated good[/green]" if opinion.rating > 0 else "[red]rated bad[/red]"
    when = datetime.fromtimestamp(opinion.at, UTC).strftime("%Y-%m-%d %H:%M UTC")
    return f"{rated} by {escape(opinion.owner)}, {when}  [dim]{opinion.answer}[/dim]"


def _print_draft(draft: Draft) -> None:
    opinion = draft.opinion
    for turn in opinion.history:
        _line("before" if turn.role == "user" else "", turn.text, "dim")
    _line("question", opinion.told["question"], "bold")
    _line("answer", opinion.told["answer"].strip() or "–")
    if opinion.comment:
        _line("comment", opinion.comment, "italic")
    for context in opinion.told["contexts"]:
        _line(f"[{context['number']}]", f"{context['doc_id']}:{context['start']}-{context['end']}", "dim")
        if draft.open:
            # The reviewer still has to quote something from it.
            out.print(f"[dim]{escape(context['text'].strip())}[/dim]", soft_wrap=True)
    _print_question(draft.row)
    for remark in (*draft.open, *draft.notes):
        out.print(f"[yellow]{escape(remark)}[/yellow]", soft_wrap=True)


def _print_question(row: Row) -> None:
    """Print a question as it would be written, without the parts printed before."""
    for name in ("id", "kind", "split", "cluster", "answers"):
        if row.get(name):
            _line(name, row[name] if isinstance(row[name], str) else " | ".join(map(str, row[name])))
    # An edited row may hold anything as evidence.
    groups: Any = row.get("evidence") or []
    listed = isinstance(groups, list)
    for group in groups if listed else [groups]:
        _line("evidence", json.dumps(group, ensure_ascii=False) if listed else repr(group))


def _line(name: str, text: Any, style: str = "default") -> None:
    out.print(f"[cyan]{escape(name):>9}[/cyan]  [{style}]{escape(str(text))}[/{style}]", soft_wrap=True)
