"""What a component is: target, parameters, code, libraries, model. Two equal identities must mean equal behaviour."""

import ast
import hashlib
import importlib.metadata
import importlib.util
import json
import sys
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

SILENT = ("rag.errors", "rag.roles")
"""Modules of ours whose code cannot change a result: messages and Protocols."""


def digest(*parts: object) -> str:
    """A sha256 over a sequence of JSON values, the same on every machine."""
    text = json.dumps(parts, sort_keys=True, ensure_ascii=True, allow_nan=False, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


@lru_cache(maxsize=512)
def code_identity(module: str, trusted: tuple[str, ...] = ("rag",)) -> str:
    """Hash of a module's syntax tree, of the trusted modules that it imports, and the versions of its libraries.

    Comments, layout and docstrings do not count. Imports inside functions do.
    """
    trees: dict[str, str] = {}
    libraries: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name in trees or name in SILENT:
            continue
        tree = _tree(name)
        trees[name] = ast.dump(tree)
        for imported in _imports(tree, name):
            root = imported.split(".")[0]
            if root in trusted:
                waiting.append(imported)
            elif root not in sys.stdlib_module_names:
                libraries.add(root)
    return digest(sorted(trees.items()), sorted((name, library_version(name)) for name in libraries))


def _tree(module: str) -> ast.Module:
    spec = importlib.util.find_spec(module)
    source = Path(spec.origin).read_text("utf-8") if spec and spec.origin else ""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = [part for part in node.body if not _is_text(part)]
    return tree


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _imports(tree: ast.Module, module: str) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            name = importlib.util.resolve_name(base, module.rpartition(".")[0]) if node.level else base
            for alias in node.names:
                yield f"{name}.{alias.name}" if _is_module(f"{name}.{alias.name}") else name


@lru_cache(maxsize=2048)
def _is_module(name: str) -> bool:
    if name.split(".")[0] in sys.stdlib_module_names or not name.startswith("rag."):
        return False
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


@lru_cache(maxsize=512)
def library_version(root: str) -> str:
    """The installed version of the distribution that an import name belongs to; empty where it is not installed."""
    try:
        return importlib.metadata.version(root)
    except importlib.metadata.PackageNotFoundError:
        names = _distributions().get(root, ())
        return ",".join(f"{name}=={importlib.metadata.version(name)}" for name in sorted(set(names)))


@lru_cache(maxsize=1)
def _distributions() -> Mapping[str, list[str]]:
    return importlib.metadata.packages_distributions()


def without_runtime(node: Any) -> Any:
    """A config without its `runtime` blocks: what is left can change a result."""
    if isinstance(node, Mapping):
        return {key: without_runtime(value) for key, value in node.items() if key != "runtime"}
    return [without_runtime(value) for value in node] if isinstance(node, list | tuple) else node
