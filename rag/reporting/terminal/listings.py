"""What there is: experiments, groups, choices, parameters."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rag.reporting.terminal.next_commands import following
from rag.reporting.terminal.output import Table, escape, out, visible

LONGEST = 40
"""Characters of a value that are shown."""
Listing = Mapping[str, Any]


def listed(told: Listing) -> None:
    """What `rag.config.listing.listing_json` found."""
    if "groups" in told:
        _everything(told)
    elif "experiments" in told:
        _experiments(told)
    elif "parameters" in told:
        _choice(told)
    elif "choices" in told:
        _group(told)
    elif "values" in told:
        _parameters(told["values"])
        out.print("[dim]To set one: k=10[/dim]")
    else:
        _experiment(told)


def _everything(told: Listing) -> None:
    _experiments(told)
    out.print("\n[bold]Choices[/bold]  GROUP=CHOICE in any verb; * is the default")
    _rows((each["name"], f"{each['meaning']}\n[dim]{', '.join(map(_named, each['choices']))}[/dim]") for each in told["groups"])
    lacking: dict[str, list[str]] = {}
    for one in (one for each in told["groups"] for one in each["choices"]):
        for line in one["install"]:
            lacking.setdefault(line, []).append(f"{one['group']}={one['name']}")
    for line, names in lacking.items():
        out.print(f"Not installed, a package of {', '.join(names)}: {line}", markup=False, soft_wrap=True)
    following(["rag list chunker", "rag list chunker recursive", "rag list values"])


def _experiments(told: Listing) -> None:
    out.print("[bold]Experiments[/bold]  rag sweep NAME")
    _rows((each["name"], escape(visible(each["question"]))) for each in told["experiments"])


def _group(told: Listing) -> None:
    out.print(f"[bold]{escape(told['group'])}[/bold]  {escape(told['meaning'])}")
    _rows((_starred(each), escape(visible("\n".join([each["meaning"], *_absent(each)])))) for each in told["choices"])
    following(f"rag list {told['group']} {each['name']}" for each in told["choices"][:1])


def _choice(told: Listing) -> None:
    name = f"{told['group']}={told['name']}"
    out.print(f"[bold]{escape(name)}[/bold]{'  the default' if told['is_default'] else ''}", soft_wrap=True)
    out.print(visible(told["about"]), markup=False)
    for line in _absent(told):
        out.print(line, markup=False, soft_wrap=True)
    _parameters(told["parameters"])
    out.print(f"[dim]{escape(told['path'])}[/dim]", soft_wrap=True)


def _parameters(found: Sequence[Listing]) -> None:
    _rows((each["key"], _brief(each["value"]), escape(visible(each["meaning"]))) for each in found)


def _experiment(told: Listing) -> None:
    out.print(f"[bold]{escape(told['name'])}[/bold]  {escape(str(told['question']))}")
    axes = told["axes"] if isinstance(told["axes"], dict) else {}
    _rows((name, escape(visible(_lines(held)))) for name, held in [("fixed", told["fixed"]), *axes.items()] if held)
    out.print(f"[dim]{escape(told['path'])}[/dim]", soft_wrap=True)
    following([f"rag plan {told['name']}", f"rag sweep {told['name']}"])


def _lines(held: Any) -> str:
    """Overrides as an experiment has them: text, a list, or a mapping of labels to either."""
    if isinstance(held, dict):
        return "\n".join(f"{label}: {_words(each)}" for label, each in held.items())
    return "\n".join(map(_words, held)) if isinstance(held, list) else str(held)


def _words(held: Any) -> str:
    return " ".join(map(str, held)) if isinstance(held, list) else str(held)


def _rows(rows: Iterable[Sequence[str]]) -> None:
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    for name, *cells in rows:
        table.add_row(f"  {escape(visible(str(name)))}", *cells)
    out.print(table)


def _absent(told: Listing) -> list[str]:
    return [f"a package of it is not installed: {line}" for line in told["install"]]


def _named(told: Listing) -> str:
    return escape(f"{_starred(told)}{' (lacks a package)' if told['install'] else ''}")


def _starred(told: Listing) -> str:
    return f"{told['name']}{'*' if told['is_default'] else ''}"


def _brief(value: Any) -> str:
    if value == "???":
        return "[yellow]to be given[/yellow]"
    text = " ".join(value.split()) if isinstance(value, str) and value.strip() else json.dumps(value, ensure_ascii=False)
    return escape(visible(text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"))
