"""The exact messages of a question, and the passages in them and left out."""

from collections.abc import Mapping, Sequence
from typing import Any

from rag.reporting.number_format import money
from rag.reporting.terminal.output import escape, out, stream


def prompt(preview: Mapping[str, Any]) -> None:
    """Print every message with its role and tokens, then the passages in them, and those left out with the reason."""
    for message in preview["messages"]:
        out.rule(f"[bold]{message['role']}[/bold] [dim]{message['tokens']} tokens[/dim]", align="left", style="dim")
        stream(f"{message['content']}\n")
    out.rule(style="dim")
    _print_size(preview)
    _passages("Passages in it", preview["contexts"])
    _passages("Found and left out", preview["left_out"])


def _print_size(preview: Mapping[str, Any]) -> None:
    """Print the tokens of the messages, or why no message is sent."""
    if not preview["messages"]:
        reasons = [f"{each['source']}: {each['what']}" for each in preview["findings"] if each["action"] == "abstain"]
        out.print(f"[yellow]The model is not asked.[/yellow] {escape('; '.join(reasons))}")
        return
    budget = preview["context_tokens"]
    passages = sum(context["tokens"] for context in preview["contexts"])
    limit = "no limit" if budget is None else f"at most {budget}"
    price = "of unknown price" if preview["most_usd"] is None else f"at most {money(preview['most_usd'])}"
    out.print(f"{preview['tokens']} tokens, {passages} of them passages ({limit}); {price}.", soft_wrap=True)
    out.print("[dim]Counted in word pieces; the model's own count differs, often by a tenth.[/dim]", soft_wrap=True)


def _passages(title: str, rows: Sequence[Mapping[str, Any]]) -> None:
    if not rows:
        return
    out.print(f"\n[bold]{title}[/bold]")
    sizes = [_size(row) for row in rows]
    wide, long = max(len(row["chunk"]) for row in rows), max(map(len, sizes))
    for row, size in zip(rows, sizes, strict=True):
        name = escape(row["chunk"].ljust(wide))
        number = f"\\[{row['number']}]" if "number" in row else f"#{row['rank']} "
        why = f"[yellow]{escape(row['why'])}[/yellow]" if "why" in row else f"[dim]{escape(row['section'])}[/dim]"
        out.print(f"{number} {name}  {size:>{long}}  {why}", soft_wrap=True)


def _size(row: Mapping[str, Any]) -> str:
    cut = row.get("of", row["tokens"]) != row["tokens"]
    return f"{row['tokens']} of {row['of']} tokens" if cut else f"{row['tokens']} tokens"
