"""What became of one question, of all that were lost, and of what a better part would add."""

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any

from rich.console import Group
from rich.padding import Padding

from rag.analysis.why import Account, Why
from rag.reporting.terminal.output import Table, escape, number, out
from rag.reporting.terminal.passages import excerpt, heading
from rag.reporting.terminal.passages import passages as print_passages

BESIDE = 100
"""Columns of a terminal from which on two trials stand beside each other."""
QUOTE, SHORT = 300, 160
LATER = ("fused", "reranked", "selected")


def why(found: Why) -> None:
    """A question, the verdict on it, its gold, where that stood after every step, what was read and what was answered."""
    _question(found.question)
    for account in found.trials:
        _verdict(account)
    _evidence(found.question)
    if found.question["evidence"]:
        out.print(_places(found.trials))
        out.print(f"[dim]{_legend(found.trials)}[/dim]")
    _read(found.trials)


def _question(question: Mapping[str, Any]) -> None:
    about = ", ".join(filter(None, (question["kind"], question["split"])))
    for turn in question["history"]:
        out.print(f"[dim]{escape(turn['role'])}: {escape(turn['text'])}[/dim]")
    out.print(f"[bold]{escape(question['text'])}[/bold]")
    out.print(f"[dim]{escape(question['id'])}{f' ({escape(about)})' if about else ''}[/dim]\n")


def _verdict(account: Account) -> None:
    colour = "red" if account.stage else "green"
    out.print(f"{escape(_called(account))}: [{colour}]{escape(account.said)}[/{colour}]")


def _called(account: Account) -> str:
    return f"{account.name} ({account.trial_id})"


def _evidence(question: Mapping[str, Any]) -> None:
    out.print()
    for row, group in enumerate(question["evidence"], 1):
        for place, gold in enumerate(group["any"]):
            said = f"Evidence {row}" if not place else "        or"
            grade = f", grade {group['grade']}" if group["grade"] != 1 and not place else ""
            span = f" {gold['start']}–{gold['end']}" if "start" in gold else ", the whole document"
            out.print(f"{said}{grade}: {escape(gold['document'])}{span}", soft_wrap=True)
            if "quote" in gold:
                quote = {"text": gold["quote"], "gold": [{"start": 0, "end": len(gold["quote"])}]}
                out.print(Padding(excerpt(quote, QUOTE), (0, 4), expand=False))
    out.print()


def _places(accounts: Sequence[Account]) -> Table:
    """The rank of every group after every step, trials beside each other."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("rank")
    groups = len(accounts[0].stages)
    for letter, _ in zip("AB", accounts, strict=False):
        for group in range(1, groups + 1):
            name = f"evidence {group}" if groups > 1 else "evidence"
            table.add_column(f"{letter}: {name}" if len(accounts) > 1 else name, justify="right")
    for step in sorted(dict.fromkeys(step for account in accounts for step in account.ranks), key=_place):
        table.add_row(escape(step), *(cell for account in accounts for cell in _ranks(account, step, groups)))
    if any(account.read is not None for account in accounts):
        table.add_row("in the contexts", *(cell for account in accounts for cell in _contexts(account, groups)))
    table.add_row("lost", *(f"[red]{escape(stage)}[/red]" if stage else "–" for each in accounts for stage in each.stages))
    return table


def _place(step: str) -> int:
    """Indexes stand before the steps behind them, in the order in which they were met."""
    return LATER.index(step) + 1 if step in LATER else 0


def _ranks(account: Account, step: str, groups: int) -> list[str]:
    if step not in account.ranks:
        return [""] * groups
    shown = []
    for rank in account.ranks[step]:
        soon = 0 < rank <= account.k
        shown.append(f"[green]{rank}[/green]" if soon else str(rank) if rank else "[red]not found[/red]")
    return shown


def _contexts(account: Account, groups: int) -> list[str]:
    if account.read is None:
        return [""] * groups
    return ["[green]yes[/green]" if read else "[red]no[/red]" for read in account.read]


def _legend(accounts: Sequence[Account]) -> str:
    cuts = dict.fromkeys(f"the first {account.k} count" for account in accounts)
    unit = accounts[0].unit
    letters = [f"{letter} = {_called(each)}" for letter, each in zip("AB", accounts, strict=False)] if accounts[1:] else []
    return escape(". ".join([*letters, f"Ranks are of {unit}s; {' and '.join(cuts)}."]))


def _read(accounts: Sequence[Account]) -> None:
    if len(accounts) > 1 and out.width >= BESIDE:
        out.print()
        out.print(_beside(accounts))
        return
    for account in accounts:
        out.print(f"\n[bold]{escape(_called(account))}[/bold]" if len(accounts) > 1 else "")
        print_passages(account.passages)
        _none(account)
        _answer(account)


def _beside(accounts: Sequence[Account]) -> Table:
    """What two trials read and answered, rank by rank."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0), expand=True)
    for letter, account in zip("AB", accounts, strict=False):
        table.add_column(f"{letter}: {escape(_called(account))}", ratio=1)
    for row in zip_longest(*(account.passages for account in accounts)):
        table.add_row(*(_cell(passage) if passage else "" for passage in row))
    table.add_row(*("" if account.passages else "No passage was found." for account in accounts))
    table.add_row(*("\n".join(_lines(account)) if account.answer else "" for account in accounts))
    return table


def _cell(passage: Mapping[str, Any]) -> Group:
    return Group(heading(passage), Padding(excerpt(passage, SHORT), (0, 0, 1, 4)))


def _none(account: Account) -> None:
    if not account.passages:
        out.print("No passage was found.")


def _answer(account: Account) -> None:
    for line in _lines(account) if account.answer else ():
        out.print(line)


def _lines(account: Account) -> list[str]:
    answer = account.answer or {}
    scores = ", ".join(f"{name} {number(value)}" for name, value in answer["scores"].items())
    reply = " ".join(answer["answer"].split())
    return [f"Answer{f' ({escape(scores)})' if scores else ''}: {escape(reply) if reply else '[dim]none[/dim]'}"]
