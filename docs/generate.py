"""Write the reference pages of the documentation from code: `python docs/generate.py`. A test fails where they differ."""

import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import typer
import yaml

from rag.cli import app

ROOT = Path(__file__).parent.parent
CONF = ROOT / "conf"
NOTE = "<!-- Written by docs/generate.py; do not edit. -->\n"
KEY = re.compile(r"^(?P<indent> *)(?P<key>[\w.]+):(?P<rest>.*)$")
COMMENT = re.compile(r"\s+# (?P<text>.*)$|^# (?P<alone>.*)$")


def pages() -> dict[str, str]:
    """Every page of docs/reference/ by its file name."""
    return {"configuration.md": configuration(), "commands.md": commands(), "metrics.md": metrics()}


def configuration() -> str:
    """All groups of `conf/` with their choices and parameters, and the values of the wiring."""
    parts = [
        "# Configuration",
        "Every group is a folder in `conf/`, every choice a YAML file in it. `chunker=fixed` chooses,\n"
        "`chunker.size=400` sets a parameter. A `conf/` in the folder where you run is found first.",
        "## Values of the wiring",
        "Defaults stand in `conf/config.yaml`.",
        _values(CONF / "config.yaml"),
    ]
    for group in sorted(path for path in CONF.iterdir() if path.is_dir() and path.name != "metric"):
        parts.append(f"## {group.name}")
        for choice in sorted(group.glob("*.yaml")):
            parts += [f"### {group.name}={choice.stem}", _summary(choice), *map(_described, _targets(choice)), _values(choice)]
    parts += ["## metric", "See [metrics](metrics.md)."]
    return _page(parts)


def metrics() -> str:
    """All metrics with their definitions."""
    parts = [
        "# Metrics",
        "Ranking metrics take a cut-off: `recall@5`, `recall@k` (the trial's own `k`), `recall@2000chars` (the first 2,000\n"
        "characters that are read). Answer metrics take none. A metric that does not apply to a question has no value there\n"
        "and leaves its mean. A question that failed scores 0.",
    ]
    for choice in sorted((CONF / "metric").glob("*.yaml")):
        parts += [f"## {choice.stem}", _summary(choice), *map(_described, _targets(choice)), _values(choice)]
    return _page(parts)


def commands() -> str:
    """All verbs with their arguments and options."""
    root = typer.main.get_command(app)
    parts = [
        "# Commands",
        _line(root.help),
        "Every verb that prints results takes `--json`.",
        _line(getattr(root, "epilog", "")),
    ]
    for path, command in _walked(root, "rag"):
        parts += [f"## {path}", _escaped(inspect.cleandoc(command.help or "")), _parameters(command)]
    return _page(parts)


def _walked(command: Any, path: str) -> Iterator[tuple[str, Any]]:
    for name, one in getattr(command, "commands", {}).items():
        inner = f"{path} {name}"
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


def _targets(path: Path) -> list[str]:
    """The class of a choice; none for a choice of nothing."""
    content = yaml.safe_load(path.read_text("utf-8")) or {}
    nodes = [content, *(node for node in content.values() if isinstance(node, dict))]
    return [node["_target_"] for node in nodes if "_target_" in node][:1]


def _summary(path: Path) -> str:
    """The comment at the head of a YAML file."""
    lines = []
    for line in path.read_text("utf-8").splitlines():
        if not line.startswith("#"):
            break
        lines.append(line.lstrip("# "))
    return _escaped(" ".join(lines))


def _described(target: str) -> str:
    """The docstring of a class, behind its name."""
    module, _, name = target.rpartition(".")
    return f"`{target}`: " + _escaped(inspect.cleandoc(getattr(importlib.import_module(module), name).__doc__ or ""))


def _escaped(text: str) -> str:
    return text.replace("<", "&lt;")


def _values(path: Path) -> str:
    """Keys of a YAML file with their values and comments; nested keys are dotted, long values are cut."""
    rows: list[list[str]] = []
    open_keys: list[tuple[int, str]] = []
    is_folded = False
    for line in _body(path):
        found = KEY.match(line)
        if is_folded and (not found or len(found["indent"]) > open_keys[-1][0]):
            continue
        if not found:
            comment = COMMENT.search(line)
            if comment and rows:
                rows[-1][2] += f" {comment['text'] or comment['alone']}"
            continue
        depth = len(found["indent"])
        open_keys = [*(one for one in open_keys if one[0] < depth), (depth, found["key"])]
        value, said = _parted(found["rest"])
        is_folded = value[:1] in ("|", ">")
        rows.append([".".join(key for _, key in open_keys), "…" if is_folded else value, said])
    kept = [row for row in rows if not row[0].endswith("_target_") and (row[1] or row[2])]
    shown = [(f"`{key}`", f"`{value}`" if value else "", _escaped(said)) for key, value, said in kept]
    return _table(("key", "value", "meaning"), shown) if shown else ""


def _body(path: Path) -> Iterator[str]:
    """The lines of a YAML file without its head and its list of defaults."""
    in_head, in_defaults = True, False
    for line in path.read_text("utf-8").splitlines():
        in_head = in_head and line.startswith("#")
        in_defaults = line.startswith("defaults:") or (in_defaults and line.startswith(" "))
        if not in_head and not in_defaults and line.strip():
            yield line


def _parted(rest: str) -> tuple[str, str]:
    """Value and comment of a line."""
    comment = COMMENT.search(rest)
    value = (rest[: comment.start()] if comment else rest).strip()
    return (value if len(value) <= 60 else f"{value[:57]} …"), (comment["text"] or "") if comment else ""


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in lines)


def _line(text: str | None) -> str:
    return " ".join(click.unstyle(text or "").split())


def _page(parts: list[str]) -> str:
    return NOTE + "\n" + "\n\n".join(part for part in parts if part) + "\n"


if __name__ == "__main__":
    for name, text in pages().items():
        (ROOT / "docs" / "reference" / name).write_text(text, "utf-8")
