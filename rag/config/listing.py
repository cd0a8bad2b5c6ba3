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
from rag.config.yaml_files import read
from rag.core.errors import ConfigError, closest, install

TARGET = re.compile(r"^\s*_target_:\s*([\w.]+)", re.MULTILINE)
COMMENT = re.compile(r"\s#\s*(.*)$")
SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
GLOBAL = "# @package _global_\n"
"""The first line of a preset, for Hydra."""
HIDDEN = ("defaults", "_target_")
VALUES, EXPERIMENTS = "values", "experiments"
"""The names of the wiring's single values and of the declared experiments; an experiment may be named like a group."""
GROUPS: Mapping[str, str] = {
    "loader": "reads the documents",
    "parser": "read one format of files, named in loader.parsers",
    "redactor": "finds values that are not stored, named in loader.redactor",
    "ingest": "decides which files become documents, named in loader.ingest",
    "noise": "finds text that is no content, such as page headers, named in loader.noise",
    "dataset": "golden questions, and the loader of their documents",
    "enrich": "makes records of documents: typed fields that can be counted and listed",
    "roster": "joins records with an authoritative table",
    "chunker": "cuts documents into passages",
    "passage": "says what indexes, embedder and reranker read of a chunk",
    "embedder": "turns texts into vectors",
    "index": "finds passages; a trial may have several",
    "analyser": "cuts texts into the terms of a word index, named in index.bm25s.analyser",
    "fusion": "makes one ranking of those of several indexes",
    "reranker": "scores the best passages a second time",
    "selector": "drops, orders or widens what was found; a trial may have several",
    "route": "says whether passages or records answer a question",
    "policy": "says how often the pipeline looks before it answers",
    "queries": "says what is searched for in a conversation",
    "memory": "says what the model sees of a conversation",
    "reuse": "says what a conversation uses again of what it found",
    "shape": "says what a question asks for, before and after the search",
    "condense": "makes a short context of the passages",
    "guard": "protects against documents that give orders; a trial may have several",
    "prompt": "lays out question and passages for a model",
    "generator": "answers",
    "helper": "the small model of all that rewrites, sums up, routes, takes apart or enriches",
    "check": "looks at answers before a person does; a trial may have several",
    "judge": "says how far answers follow from passages",
    "metric": "measures; `metrics` names those of a trial, with their cuts",
    "execute": "where stages run",
    "preset": "a whole system: choices for the other groups, which an override replaces",
}
"""The meaning of our config groups."""


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
    if what == EXPERIMENTS or (what in declared and what not in known and not which):
        return _experiment(which or what.removeprefix(EXPERIMENTS))
    if not what:
        found = [{"name": name, "meaning": GROUPS.get(name, ""), "choices": _choices(name)} for name in known]
        return {**_experiment(""), "groups": found}
    if what in known and which:
        if which not in choices(what):
            raise ConfigError(what, f"there is no choice {which!r}", closest(which, choices(what)))
        chosen = choice(what, which)
        return {**asdict(chosen), "parameters": [asdict(each) for each in parameters(chosen)]}
    if what in known:
        return {"group": what, "meaning": GROUPS.get(what, ""), "choices": _choices(what)}
    if what == VALUES:
        return {"values": [asdict(each) for each in values()]}
    holding = [f"rag list {group} {what}" for group in known if what in choices(group)]
    near = " or ".join(holding) or closest(what, {*known, *declared, VALUES, EXPERIMENTS})
    raise ConfigError("list", f"there is no group and no experiment {what!r}", near)


def _experiment(name: str) -> dict[str, Any]:
    """A declared experiment; all of them without a name."""
    if name:
        path = locate(name)
        return {"name": name, "path": str(path), **{key: _content(path).get(key) for key in ("question", "fixed", "axes")}}
    questions = {name: str(_content(path).get("question", "")).strip() for name, path in experiments().items()}
    return {EXPERIMENTS: [{"name": name, "question": question} for name, question in questions.items()]}


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
    return tuple(sorted({install(name) for name in used if importlib.util.find_spec(name) is None}))


def _docstring(target: str) -> str:
    """The docstring of a class on one line."""
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
