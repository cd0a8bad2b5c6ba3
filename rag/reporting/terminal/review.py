"""Ratings one after the other, and what a reviewer makes of each."""

import json
import os
import shlex
import subprocess
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rag.components.loaders.json_rows import parse_row
from rag.core.errors import ConfigError, UserError
from rag.evaluation.data.review.drafts import Draft, Row
from rag.evaluation.data.review.review_loop import Review
from rag.reporting.terminal.line_input import Typed
from rag.reporting.terminal.output import err, escape, out, visible

CHOICES = "[bold]a[/bold] accept, [bold]e[/bold] edit, [bold]d[/bold] drop, [bold]s[/bold] skip, [bold]q[/bold] quit"

FORM = 'evidence, all groups needed, any place of one: [{"any": [{"doc": "leave.md", "quote": "words as they stand there"}]}]'


def reviewed(review: Review, name: str, asking: bool = True) -> None:
    """Ask a person what becomes of every rating that waits; what is skipped, or behind `q` or the end of input, waits on."""
    typed, answers = Typed(), list(review.waiting) if asking else []
    for number, answer in enumerate(answers, 1):
        draft = review.waiting[answer]
        out.print(f"\n[bold]{number} of {len(answers)}[/bold]  {_about(draft)}")
        _shown(draft)
        if not _decided(review, draft, typed):
            break
    told = f"{len(review.accepted)} written to {name}, {len(review.dropped)} dropped, {len(review.waiting)} waiting."
    out.print(("\n" if answers else "") + escape(told), soft_wrap=True)


def _decided(review: Review, draft: Draft, typed: Typed) -> bool:
    """Whether to go on with the next one."""
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
                _row(row)
                if wrong := review.refusal(row):
                    err.print(f"[red]{escape(visible(wrong))}[/red]", soft_wrap=True)
            elif choice in ("s", "q"):
                return choice == "s"
        except UserError as error:
            err.print(f"[red]{escape(visible(str(error)))}[/red]", soft_wrap=True)


def edited(row: Row) -> Row:
    """A question as somebody left it in the editor that VISUAL or EDITOR name; UserError for what is no JSON object."""
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
    return f"{rated} by {escape(visible(opinion.owner))}, {when}  [dim]{opinion.answer}[/dim]"


def _shown(draft: Draft) -> None:
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
            # Something has to be quoted yet.
            out.print(f"[dim]{escape(visible(context['text'].strip()))}[/dim]", soft_wrap=True)
    _row(draft.row)
    for said in (*draft.open, *draft.notes):
        out.print(f"[yellow]{escape(visible(said))}[/yellow]", soft_wrap=True)


def _row(row: Row) -> None:
    """A question as it would be written, without what was shown already."""
    for name in ("id", "kind", "split", "cluster", "answers"):
        if row.get(name):
            _line(name, row[name] if isinstance(row[name], str) else " | ".join(map(str, row[name])))
    for place in _places(row):
        _line("evidence", place)


def _places(row: Row) -> list[str]:
    """Groups of evidence, a line each; what an editor left may have any form."""
    groups: Any = row.get("evidence") or []
    return [json.dumps(group, ensure_ascii=False) for group in groups] if isinstance(groups, list) else [repr(groups)]


def _line(name: str, text: Any, style: str = "default") -> None:
    out.print(f"[cyan]{escape(name):>9}[/cyan]  [{style}]{escape(visible(str(text)))}[/{style}]", soft_wrap=True)
