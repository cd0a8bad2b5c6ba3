"""Experiments, groups, choices and parameters, as `rag list` prints them."""

import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rag.reporting.terminal.output import escape, next_commands, out, print_line, print_pairs, shortened

LONGEST = 40
"""Characters of a value that are shown."""
Listing = Mapping[str, Any]


def listed(listing: Listing, everything: bool = False) -> None:
    """Print what `rag.config.listing.listing_json` returns; the choices of all groups only with `everything`."""
    if "topic" in listing:
        out.print(f"[bold]{escape(listing['topic'])}[/bold]  {escape(listing['meaning'])}")
        _choices(listing["groups"])
        next_commands(f"rag list {each['name']}" for each in listing["groups"][:1])
    elif "topics" in listing:
        _everything(listing) if everything else _topics(listing)
    elif "experiments" in listing:
        _experiments(listing["experiments"])
    elif "parameters" in listing:
        _choice(listing)
    elif "choices" in listing:
        _group(listing)
    elif "values" in listing:
        _parameters(listing["values"])
        out.print("[dim]To set one: k=10[/dim]")
    else:
        _experiment(listing)


def _topics(listing: Listing) -> None:
    studies = [each["name"] for each in listing["experiments"] if each["study"]]
    _experiments([each for each in listing["experiments"] if not each["study"]])
    if studies:
        out.print(f"  [dim]and {len(studies)} studies with their results: rag list experiments[/dim]")
    out.print("\n[bold]Choices[/bold]  GROUP=CHOICE in any verb")
    _rows((each["name"], f"{escape(each['meaning'])}{_within(each)}") for each in listing["topics"])
    next_commands(["rag list documents", "rag list chunker", "rag list chunker recursive", "rag list values", "rag list --all"])


def _within(topic: Listing) -> str:
    return "" if topic["groups"] == [topic["name"]] else escape(f" ({', '.join(topic['groups'])})")


def _everything(listing: Listing) -> None:
    _experiments(listing["experiments"])
    out.print("\n[bold]Choices[/bold]  GROUP=CHOICE in any verb; * is the default")
    _choices(listing["groups"])
    lacking: dict[str, list[str]] = {}
    for choice in (choice for group in listing["groups"] for choice in group["choices"]):
        for line in choice["install"]:
            lacking.setdefault(line, []).append(f"{choice['group']}={choice['name']}")
    for line, names in lacking.items():
        print_line(f"Not installed, a package of {', '.join(names)}: {line}")
    next_commands(["rag list chunker", "rag list chunker recursive", "rag list values"])


def _choices(groups: Sequence[Listing]) -> None:
    _rows((each["name"], f"{each['meaning']}\n[dim]{', '.join(map(_choice_name, each['choices']))}[/dim]") for each in groups)


def _experiments(experiments: Sequence[Listing]) -> None:
    out.print("[bold]Experiments[/bold]  rag sweep NAME")
    _rows((each["name"], escape(each["question"])) for each in experiments)


def _group(listing: Listing) -> None:
    out.print(f"[bold]{escape(listing['group'])}[/bold]  {escape(listing['meaning'])}")
    _rows((_starred(each), escape("\n".join([each["meaning"], *_absent(each)]))) for each in listing["choices"])
    named = [*(f"{listing['group']} {each['name']}" for each in listing["choices"][:1]), *listing["related"]]
    next_commands(f"rag list {each}" for each in named)


def _choice(listing: Listing) -> None:
    name = f"{listing['group']}={listing['name']}"
    out.print(f"[bold]{escape(name)}[/bold]{'  the default' if listing['is_default'] else ''}", soft_wrap=True)
    out.print(listing["about"], markup=False)
    for line in _absent(listing):
        print_line(line)
    _parameters(listing["parameters"])
    out.print(f"[dim]{escape(listing['path'])}[/dim]", soft_wrap=True)


def _parameters(found: Sequence[Listing]) -> None:
    _rows((each["key"], _brief(each["value"]), escape(each["meaning"])) for each in found)


def _experiment(listing: Listing) -> None:
    out.print(f"[bold]{escape(listing['name'])}[/bold]  {escape(str(listing['question']))}")
    axes = listing["axes"] if isinstance(listing["axes"], dict) else {}
    rows = [("fixed", listing["fixed"]), *axes.items(), ("showed", listing["showed"])]
    _rows((name, escape(_lines(held))) for name, held in rows if held)
    out.print(f"[dim]{escape(listing['path'])}[/dim]", soft_wrap=True)
    next_commands(shlex.join(["rag", verb, listing["name"]]) for verb in ("plan", "sweep"))


def _lines(held: Any) -> str:
    """Overrides of an experiment as text; they may be text, a list, or a mapping of labels to either."""
    if isinstance(held, dict):
        return "\n".join(f"{label}: {_words(each)}" for label, each in held.items())
    return "\n".join(map(_words, held)) if isinstance(held, list) else str(held)


def _words(held: Any) -> str:
    return " ".join(map(str, held)) if isinstance(held, list) else str(held)


def _rows(rows: Iterable[Sequence[str]]) -> None:
    print_pairs((f"  {escape(str(name))}", *cells) for name, *cells in rows)


def _absent(listing: Listing) -> list[str]:
    return [f"a package of it is not installed: {line}" for line in listing["install"]]


def _choice_name(listing: Listing) -> str:
    return escape(f"{_starred(listing)}{' (lacks a package)' if listing['install'] else ''}")


def _starred(listing: Listing) -> str:
    return f"{listing['name']}{'*' if listing['is_default'] else ''}"


def _brief(value: Any) -> str:
    if value == "???":
        return "[yellow]to be given[/yellow]"
    text = " ".join(value.split()) if isinstance(value, str) and value.strip() else json.dumps(value, ensure_ascii=False)
    return escape(shortened(text, LONGEST))
