"""The path of one question through one trial or two: verdict, evidence, ranks after every step, passages, answer."""

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any

from rich.console import Group
from rich.padding import Padding

from rag.analysis.why import Account, Why
from rag.core.figures import figure
from rag.core.pages import label
from rag.reporting.terminal.answers import looked
from rag.reporting.terminal.output import Table, escape, out, table
from rag.reporting.terminal.passages import excerpt, heading
from rag.reporting.terminal.passages import passages as print_passages

WIDE = 100
"""Width of a terminal, in characters, from which on two trials are shown side by side."""
QUOTE, SHORT = 300, 160
"""Characters shown of a quote of gold, and of a passage in a table of two trials."""
NOTHING = "No passage was found."
LATER = ("fused", "reranked", "selected")


def why(found: Why) -> None:
    """Print a question, its verdict, its gold with the ranks after every step, the passages read, and the answer."""
    _question(found.question)
    for account in found.trials:
        colour = "red" if account.stage else "green"
        out.print(f"{escape(_called(account))}: [{colour}]{escape(account.said)}[/{colour}]")
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


def _called(account: Account) -> str:
    return f"{account.name} ({account.trial_id})"


def _evidence(question: Mapping[str, Any]) -> None:
    out.print()
    for row, group in enumerate(question["evidence"], 1):
        for place, gold in enumerate(group["any"]):
            title = f"Evidence {row}" if not place else "        or"
            grade = f", grade {group['grade']}" if group["grade"] != 1 and not place else ""
            whole = ", lost before the chunker" if "fate" in gold else ", the whole document"
            span = f" {gold['start']}–{gold['end']}" if "start" in gold else whole
            if page := gold.get("page"):
                span = f" · {label((page['first'], page['last']))}"
            out.print(f"{title}{grade}: {escape(gold['document'])}{span}", soft_wrap=True)
            if gold.get("quote"):
                quote = {"text": gold["quote"], "gold": [{"start": 0, "end": len(gold["quote"])}]}
                out.print(Padding(excerpt(quote, QUOTE), (0, 4), expand=False))
    out.print()


def _places(accounts: Sequence[Account]) -> Table:
    """The rank of every group after every step, with the trials side by side."""
    groups = len(accounts[0].stages)
    names = [f"evidence {group}" if groups > 1 else "evidence" for group in range(1, groups + 1)]
    heads = names if len(accounts) == 1 else [f"{letter}: {name}" for letter in "AB" for name in names]
    shown = table("rank", *heads, breaks=True)
    steps = dict.fromkeys(step for account in accounts for step in account.ranks)
    for step in [*(step for step in steps if step not in LATER), *(step for step in LATER if step in steps)]:
        shown.add_row(escape(step), *(cell for account in accounts for cell in _ranks(account, step, groups)))
    if any(account.read is not None for account in accounts):
        shown.add_row("in the contexts", *(cell for account in accounts for cell in _contexts(account, groups)))
    shown.add_row("lost", *(f"[red]{escape(stage)}[/red]" if stage else "–" for each in accounts for stage in each.stages))
    return shown


def _ranks(account: Account, step: str, groups: int) -> list[str]:
    if step not in account.ranks:
        return [""] * groups
    near = [f"[green]{rank}[/green]" if rank <= account.k else str(rank) for rank in account.ranks[step]]
    return [text if rank else "[red]not found[/red]" for text, rank in zip(near, account.ranks[step], strict=True)]


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
    if len(accounts) > 1 and out.width >= WIDE:
        out.print()
        out.print(_side_by_side(accounts))
        return
    for account in accounts:
        out.print(f"\n[bold]{escape(_called(account))}[/bold]" if len(accounts) > 1 else "")
        print_passages(account.passages)
        if not account.passages:
            out.print(NOTHING)
        if account.answer:
            out.print(_answer(account))
            if look := account.answer.get("look"):
                looked(look)


def _side_by_side(accounts: Sequence[Account]) -> Table:
    """The passages that two trials read, rank by rank, and their answers."""
    heads = [f"{letter}: {_called(account)}" for letter, account in zip("AB", accounts, strict=False)]
    shown = table(*heads, words=len(heads), expand=True)
    for column in shown.columns:
        column.ratio = 1
    for row in zip_longest(*(account.passages for account in accounts)):
        cells = ((heading(each), Padding(excerpt(each, SHORT), (0, 0, 1, 4))) if each else () for each in row)
        shown.add_row(*(Group(*cell) for cell in cells))
    shown.add_row(*("" if account.passages else NOTHING for account in accounts))
    shown.add_row(*map(_answer, accounts))
    return shown


def _answer(account: Account) -> str:
    answer = account.answer
    if not answer:
        return ""
    scores = ", ".join(f"{name} {figure(value)}" for name, value in answer["scores"].items())
    reply = " ".join(answer["answer"].split())
    taken = "" if answer["input"] == "question" else f" (taken for {answer['input']})"
    return f"Answer{taken}{f' ({escape(scores)})' if scores else ''}: {escape(reply) if reply else '[dim]none[/dim]'}"
