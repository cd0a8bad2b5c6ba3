"""Passages that were found, each with where it came from."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.markup import escape
from rich.padding import Padding

from rag.terminal.output import out

EXCERPT = 400


def passages(found: Sequence[Mapping[str, Any]]) -> None:
    """Passages, each with where it came from: its rank and score in every index, after fusion, after reranking."""
    for passage in found:
        steps = ", ".join(f"{name} #{place['rank']} ({place['score']:.4g})" for name, place in passage["steps"].items())
        text = " ".join(passage["text"].split())
        shown = text if len(text) <= EXCERPT else text[:EXCERPT] + " …"
        out.print(
            f"[bold]\\[{passage['rank']}][/bold] {escape(passage['chunk'])}  [cyan]{escape(steps)}[/cyan]", soft_wrap=True
        )
        if passage["section"]:
            out.print(Padding(f"[dim]{escape(passage['section'])}[/dim]", (0, 4), expand=False))
        out.print(Padding(escape(shown), (0, 4, 1, 4), expand=False))
