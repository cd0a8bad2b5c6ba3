"""Write the generated pages of the documentation: `python docs/generate.py`. A test fails where they differ.

Pages of docs/reference/ are made from code, those of docs/systems/ from the tables next to them.
"""

import csv
import importlib
import inspect
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import typer
import yaml

from rag.cli import app
from rag.config import catalog, listing
from rag.config.parameters import yaml_text
from rag.config.topics import topics

ROOT = Path(__file__).parent.parent
Topic = tuple[str, Mapping[str, str]]
NOTE = "<!-- Written by docs/generate.py; do not edit. -->\n"


STATUSES = ("met", "in part", "not met")
SYSTEMS = {
    "study_assistant": "Study assistant",
    "two_index_engine": "Two-index engine",
    "book_chatbot": "Book chatbot",
    "grounded_citations": "Grounded citations",
    "ragstream": "RAGstream",
}
"""The presets that implement published designs, with their titles."""


def pages() -> dict[str, str]:
    """Every generated page by its path below docs/."""
    named = topics(catalog.groups())
    reference = {"configuration.md": configuration(named), "commands.md": commands(), "metrics.md": metrics()}
    reference |= {f"{name}.md": topic(name, *held) for name, held in named.items()}
    reference["openapi.yaml"] = interface()
    return {f"reference/{name}": text for name, text in reference.items()} | {
        f"systems/{name}.md": system(name) for name in SYSTEMS
    }


def interface() -> str:
    """The HTTP interface and its data model, as `GET /openapi.json` describes them."""
    from rag.serve.app import create_app
    from rag.serve.settings import Settings

    described = create_app(SimpleNamespace(models=[]), Settings(), None, None).openapi()  # type: ignore[arg-type]
    text = yaml.safe_dump(described, default_flow_style=None, allow_unicode=True, width=140)
    return f"# Written by docs/generate.py; do not edit.\n{text}"


def configuration(named: Mapping[str, Topic]) -> str:
    """The topics with links to their pages, and the values of the wiring."""
    parts = [
        "# Configuration",
        "Every group is a folder in `conf/`, every choice a YAML file in it. `chunker=fixed` chooses,\n"
        "`chunker.size=400` sets a parameter. A `conf/` in the folder where you run is found first.",
        _table(
            ("page", "about", "groups"),
            [
                (f"[{name}]({name}.md)", meaning, ", ".join(f"`{group}`" for group in groups))
                for name, (meaning, groups) in named.items()
            ],
        ),
        "## Values of the wiring",
        "Defaults stand in `conf/config.yaml`.",
        _values(listing.values()),
    ]
    return _page(parts)


def topic(name: str, meaning: str, groups: Mapping[str, str]) -> str:
    """The groups of a topic with their choices and parameters; metrics have a page of their own."""
    parts = [f"# {name}", f"{meaning[:1].upper()}{meaning[1:]}." if meaning else ""]
    for group, says in groups.items():
        parts += [f"## {group}", "See [metrics](metrics.md)." if group == "metric" else says]
        chosen = catalog.choices(group) if group != "metric" else []
        parts += [part for each in chosen for part in _choice(group, each, f"### {group}={each}")]
    return _page(parts)


def metrics() -> str:
    """All metrics with their definitions."""
    parts = [
        "# Metrics",
        "Ranking metrics take a cut-off: `recall@5`, `recall@k` (the trial's own `k`), `recall@2000chars` (the first 2,000\n"
        "characters that are read). Answer metrics take none. A metric that does not apply to a question has no value there\n"
        "and leaves its mean. A question that failed scores 0.",
    ]
    return _page([*parts, *(part for name in catalog.choices("metric") for part in _choice("metric", name, f"## {name}"))])


def _choice(group: str, name: str, title: str) -> Iterator[str]:
    """A choice: its description, the docstring of its class, and its parameters."""
    chosen = listing.choice(group, name)
    module, _, class_name = chosen.target.rpartition(".")
    docstring = inspect.cleandoc(getattr(importlib.import_module(module), class_name).__doc__ or "") if module else ""
    yield title
    if chosen.about != " ".join(docstring.split()):
        yield _escaped(chosen.about)
    if module:
        yield f"`{chosen.target}`: {_escaped(docstring)}"
    yield _values(listing.parameters(chosen))


def commands() -> str:
    """All verbs with their arguments and options."""
    root = typer.main.get_command(app)
    parts = [
        "# Commands",
        _line(root.help),
        "Every verb that prints results takes `--json`. Verbs of groups also run by the names that they had before 0.2:\n"
        "`rag verify`, `rag dataset check`, `rag chat`.",
        _line(getattr(root, "epilog", "")),
    ]
    for path, command in _walked(root, "rag"):
        parts += [f"## {path}", _escaped(inspect.cleandoc(command.help or "")), _parameters(command)]
    return _page(parts)


def rows(name: str) -> list[dict[str, str]]:
    """The rows of a table of docs/systems/."""
    with (ROOT / "docs" / "systems" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def system(name: str) -> str:
    """A published design: its values in the preset, and each of its requirements."""
    about = listing.choice("preset", name).about
    parts = [
        f"# {SYSTEMS[name]}: every requirement",
        f"`rag ask --chat preset={name}` starts it. {about}",
        "## Values",
        "Values that the design states, and those of the preset.",
        _table(("key", "design", "preset", "why"), [_value_row(row) for row in rows("values") if row["system"] == name]),
        "## Requirements",
        _counted(rows(name)) + " A line is one of the text that describes the design.",
        _table(("#", "line", "requirement", "status", "where", "test", "how it differs, and why"), list(_requirements(name))),
    ]
    return _page(parts)


def _counted(table: list[dict[str, str]]) -> str:
    counts = Counter(row["status"] for row in table)
    return f"{len(table)} requirements: " + ", ".join(f"{counts[status]} {status}" for status in STATUSES) + "."


def _value_row(row: Mapping[str, str]) -> tuple[str, ...]:
    return f"`{row['key']}`", row["design"], f"`{row['preset']}`", _escaped(row["why"])


def _requirements(name: str) -> Iterator[tuple[str, ...]]:
    for row in rows(name):
        where, test = ("; ".join(f"`{each}`" for each in listed(row[key])) for key in ("where", "test"))
        yield row["number"], row["line"], _escaped(row["requirement"]), row["status"], where, test, _escaped(row["why"])


def listed(cell: str) -> list[str]:
    """The items of a cell of a table."""
    return re.split(r";\s+", cell) if cell else []


def _walked(command: Any, path: str) -> Iterator[tuple[str, Any]]:
    for name, one in getattr(command, "commands", {}).items():
        inner = f"{path} {name}"
        if one.hidden and name != "init":  # a name of before 0.2
            continue
        if getattr(one, "commands", None):
            yield from _walked(one, inner)
        else:
            yield inner, one


def _parameters(command: Any) -> str:
    rows = []
    for one in command.params:
        if one.name == "help":
            continue
        is_option = bool(getattr(one, "is_flag", False)) or one.param_type_name == "option"
        name = ", ".join((*one.opts, *one.secondary_opts)) if is_option else (one.metavar or one.name.upper())
        default = "" if one.default in (None, (), [], "", False) or callable(one.default) else str(one.default)
        rows.append((f"`{name}`", _escaped(_line(getattr(one, "help", "") or "")), f"`{default}`" if default else ""))
    return _table(("argument or option", "meaning", "unless given"), rows) if rows else ""


def _escaped(text: str) -> str:
    return text.replace("<", "&lt;")


def _values(parameters: list[listing.Parameter]) -> str:
    """Parameters with their values and meanings."""
    rows = [(f"`{each.key}`", f"`{_value(each.value)}`", _escaped(each.meaning)) for each in parameters]
    return _table(("key", "value", "meaning"), rows) if rows else ""


def _value(value: Any) -> str:
    """A value as it is typed in an override; texts without quotes."""
    text = yaml_text(value)
    return text[1:].removesuffix(text[0]) if isinstance(value, str) and value else text


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in lines)


def _line(text: str | None) -> str:
    return " ".join(click.unstyle(text or "").split())


def _page(parts: list[str]) -> str:
    return NOTE + "\n" + "\n\n".join(part for part in parts if part) + "\n"


if __name__ == "__main__":
    for name, text in pages().items():
        (ROOT / "docs" / name).write_text(text, "utf-8")
