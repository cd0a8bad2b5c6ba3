"""The choices of config groups: their meaning, parameters and missing packages, read from their YAML and their source.

Nothing is imported or built: a choice is listed where its packages are not installed.
"""

import ast
import importlib.util
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import yaml

from rag.config.catalog import PRESET, choices, defaults, experiments, first, groups, locate, plugins
from rag.config.identity import libraries
from rag.config.topics import topics
from rag.config.yaml_files import read
from rag.core.checks import check_choice
from rag.core.errors import ConfigError, closest, install, is_installed

TARGET = re.compile(r"^\s*_target_:\s*([\w.]+)", re.MULTILINE)
COMMENT = re.compile(r"\s#\s*(.*)$")
SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
GLOBAL = "# @package _global_\n"
"""The first line of a preset, for Hydra."""
HIDDEN = ("defaults", "_target_")
VALUES, EXPERIMENTS = "values", "experiments"
"""The names of the wiring's single values and of the declared experiments; an experiment may be named like a group."""


@dataclass(frozen=True)
class Parameter:
    """A key as it is typed in an override, its value in the file, and its meaning."""

    key: str
    value: Any
    meaning: str


@dataclass(frozen=True)
class Choice:
    """A choice of a group. `about` is its whole description; `install` are the commands for missing packages."""

    group: str
    name: str
    is_default: bool
    meaning: str
    about: str
    path: str
    target: str
    install: tuple[str, ...]


def listing_json(what: str = "", which: str = "") -> dict[str, Any]:
    """The output of `rag list WHAT WHICH --json`; ConfigError, with the closest names, for a name that does not exist."""
    known, declared = groups(), experiments()
    named = topics(known)
    meanings = {group: meaning for _, held in named.values() for group, meaning in held.items()}
    if what == EXPERIMENTS or (what in declared and what not in known and not which):
        return _experiment(which or what.removeprefix(EXPERIMENTS))
    if not what:
        held = [{"name": name, "meaning": meaning, "groups": [*inner]} for name, (meaning, inner) in named.items()]
        return {**_experiment(""), "topics": held, "groups": _described(meanings)}
    if what in known and which:
        check_choice(what, which, choices(what))
        chosen = choice(what, which)
        return {**asdict(chosen), "parameters": [asdict(each) for each in parameters(chosen)]}
    if what in known:
        topic = next(held for _, held in named.values() if what in held)
        return {
            "group": what,
            "meaning": meanings[what],
            "choices": _choices(what),
            "related": [each for each in topic if each != what],
        }
    if what in named and not which:
        return {"topic": what, "meaning": named[what][0], "groups": _described(named[what][1])}
    if what == VALUES:
        return {"values": [asdict(each) for each in values()]}
    holding = [f"rag list {group} {what}" for group in known if what in choices(group)]
    near = " or ".join(holding) or closest(what, {*known, *named, *declared, VALUES, EXPERIMENTS})
    raise ConfigError("list", f"there is no group and no experiment {what!r}", near)


def _experiment(name: str) -> dict[str, Any]:
    """A declared experiment; all of them without a name. A study has its result in the file, under `showed`."""
    if name:
        path = locate(name)
        keys = ("question", "fixed", "axes", "showed")
        return {"name": name, "path": str(path), **{key: _content(path).get(key) for key in keys}}
    found = {name: _content(path) for name, path in experiments().items()}
    return {
        EXPERIMENTS: [
            {"name": name, "question": str(content.get("question", "")).strip(), "study": "showed" in content}
            for name, content in found.items()
        ]
    }


def _described(meanings: Mapping[str, str]) -> list[dict[str, Any]]:
    return [{"name": name, "meaning": meaning, "choices": _choices(name)} for name, meaning in meanings.items()]


def _choices(group: str) -> list[dict[str, Any]]:
    return [asdict(choice(group, name)) for name in choices(group)]


def choice(group: str, name: str) -> Choice:
    """The description of an existing choice."""
    path = first(f"{group}/{name}") or Path()
    text = path.read_text("utf-8", errors="replace")
    found = TARGET.search(text)
    target = found[1] if found else ""
    about = _description(text) or _docstring(target)
    usual = defaults().get(group)
    is_default = name == usual or (isinstance(usual, list) and name in usual)
    return Choice(group, name, is_default, SENTENCE.split(about)[0].removesuffix("."), about, str(path), target, _lacking(text))


def _description(text: str) -> str:
    """The comment at the head of a file, or on the line of its class, or on its first line."""
    lines = text.removeprefix(GLOBAL).splitlines()
    above = [line.lstrip("# ") for line in lines[: next((n for n, line in enumerate(lines) if line[:1] != "#"), len(lines))]]
    behind = [line for line in lines if line.startswith("_target_:")] or lines[:1]
    return " ".join(above) or next((found[1] for line in behind if (found := COMMENT.search(line))), "")


def _lacking(text: str) -> tuple[str, ...]:
    """The commands that install the missing packages of the classes in a file."""
    trusted = ("rag", *plugins())
    modules = {target.rpartition(".")[0] for target in TARGET.findall(text) if target.partition(".")[0] in trusted}
    used: set[str] = set()
    for module in modules:
        with suppress(ConfigError):  # a missing module of ours is an error when the choice is used
            used |= libraries(module, trusted)
    return tuple(sorted({install(name) for name in used if not is_installed(name)}))


def _docstring(target: str) -> str:
    found = _class(target)
    return " ".join((ast.get_docstring(found) or "").split()) if found else ""


def _class(target: str) -> ast.ClassDef | None:
    """The source of a class of ours or of a plug-in; None where there is none. It is not imported."""
    module, _, name = target.rpartition(".")
    if target.partition(".")[0] not in ("rag", *plugins()):
        return None
    with suppress(ImportError, SyntaxError, ValueError, OSError):
        spec = importlib.util.find_spec(module)
        tree = ast.parse(Path(spec.origin).read_text("utf-8") if spec and spec.origin else "")
        return next((node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name), None)
    return None


def parameters(chosen: Choice) -> list[Parameter]:
    """The parameters of a choice: the values in its file, and the defaults of its constructor for the others."""
    if chosen.group == PRESET:
        made = {each.key: each for each in _overrides(chosen)}
        return list({**made, **{each.key: each for each in _read(f"{PRESET}/{chosen.name}", "")}, **made}.values())
    found = {each.key: each for each in _read(f"{chosen.group}/{chosen.name}", chosen.group)}
    prefix = f"{chosen.group}.{chosen.name}" if f"{chosen.group}.{chosen.name}" in found else chosen.group
    known = {key.rpartition(".")[2] for key in found if key.rpartition(".")[0] in (prefix, f"{prefix}.runtime")}
    source = _class(chosen.target)
    built = [node for node in source.body if isinstance(node, ast.FunctionDef) and node.name == "__init__"] if source else []
    for arguments in (node.args for node in built):
        named = [*arguments.posonlyargs, *arguments.args]
        given = zip(named[len(named) - len(arguments.defaults) :], arguments.defaults, strict=True)
        for argument, default in (*given, *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)):
            if argument.arg not in known and default:
                key = f"{prefix}.{argument.arg}"
                found[key] = Parameter(key, ast.unparse(default), "a default of the class")
    return [each for each in found.values() if each.key not in (prefix, f"{prefix}.runtime")]


def _overrides(preset: Choice) -> Iterator[Parameter]:
    """The choices that a preset makes for groups."""
    for each in _content(Path(preset.path)).get("defaults", ()):
        if isinstance(each, dict):
            yield from (Parameter(key.removeprefix("override /"), value, "") for key, value in each.items())


def values() -> list[Parameter]:
    """The keys of the wiring that are not groups."""
    return [each for each in _read("config", "") if each.key.partition(".")[0] not in defaults()]


def _read(name: str, prefix: str) -> Iterator[Parameter]:
    """Every key of a file of conf/, after the keys of files in its `defaults`."""
    path = first(name)
    if path is None:
        return
    file = read(path)
    plain, root = file.value, file.root
    if not isinstance(plain, dict) or not isinstance(root, yaml.MappingNode):
        return
    for name, _, package in (each.partition("@") for each in plain.get("defaults") or () if isinstance(each, str)):
        if name != "_self_" and not package.startswith("_global_"):
            yield from _read(name.lstrip("/"), f"{prefix}.{package}" if package not in ("", "_here_") else prefix)
    yield from _walked(root, plain, prefix, file.text.splitlines())


def _walked(node: yaml.MappingNode, plain: dict[str, Any], prefix: str, lines: list[str]) -> Iterator[Parameter]:
    for key, value in node.value:
        held = plain.get(key.value)
        if key.value in HIDDEN:
            continue
        name = f"{prefix}.{key.value}".lstrip(".")
        inner = isinstance(value, yaml.MappingNode) and bool(value.value)
        shown = (held.get("_target_") if isinstance(held, dict) else None) if inner else held
        meaning = _comment(key, value, lines)
        if not inner or shown or meaning:
            yield Parameter(name, shown, meaning)
        if inner and isinstance(held, dict) and not value.flow_style:
            yield from _walked(value, held, name, lines)


def _comment(key: yaml.Node, value: yaml.Node, lines: list[str]) -> str:
    """The comment on the line of a key, after its value."""
    line = key.start_mark.line
    behind = value.end_mark.column if value.end_mark.line == line else key.end_mark.column
    found = COMMENT.search(lines[line][behind:])
    return found[1] if found else ""


def _content(path: Path) -> dict[str, Any]:
    with suppress(ConfigError):
        return dict(read(path).mapping)
    return {}
