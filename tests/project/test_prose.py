"""Instructions for models are in YAML, not in Python.

Two searches of the syntax tree, because each alone has gaps: text in calls that build messages, and sentences that address a
model. Docstrings and errors are not instructions.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import rag

ROOT = Path(rag.__file__).parent
MESSAGES = {"Message", "Framed", "Material", "Recalled", "Turn"}
"""Classes whose text a model reads; it also reads the advice in a Finding."""
TO_PEOPLE = {"what", "remedy", "remedies", "where", "help", "message", "reason", "problem"}
"""Names whose values people read."""
WORD = re.compile(r"[^\W\d_]{2,}")
PHRASE = re.compile(r"[^\W\d_]{2,}\W*\s\W*[^\W\d_]{2,}")
SPOKEN = re.compile(
    r"\byou (?:are|will be|must|should|may only|have to|can only) (?:an?|the|to|not|now|only|answer|use|never|given)\b"
    r"|\b(?:answer|reply|respond|write|return|output) (?:only|exactly|briefly|with|in|using|from|as|nothing (?:but|else))\b"
    r"|\b(?:do not|don['’]t|never) (?:follow|use|answer|obey|mention|invent|make up|add|include|repeat)\b"
    r"|\byour (?:task|answer|reply|role|job|response|output)\b"
    r"|\bstep by step\b|\bthe (?:numbered |given |following )(?:sources|contexts|passages|question)\b"
    r"|\b(?:rewrite|summari[sz]e|translate|classify|rephrase|condense) (?:the|this|it|each)\b"
    r"|\bcite (?:the|your|every|each)\b|\bas an? (?:helpful )?(?:assistant|expert|language model)\b",
    re.IGNORECASE,
)
"""Phrases that address a model."""


def words(text: str) -> int:
    return len(WORD.findall(text))


def strings(node: ast.AST) -> Iterator[ast.Constant]:
    """All texts in an expression, those of formatted ones included."""
    for part in ast.walk(node):
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield part


def called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def spared(tree: ast.Module) -> set[int]:
    """The ids of texts that no model reads: docstrings, errors, help of options, patterns."""
    found: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            found.add(id(node.value))
        elif isinstance(node, ast.Raise) or (isinstance(node, ast.Call) and _is_to_people(node)):
            found.update(id(part) for part in strings(node))
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value and _names(node) & TO_PEOPLE:
            found.update(id(part) for part in strings(node.value))
        elif isinstance(node, ast.Yield) and node.value:
            found.update(id(part) for part in strings(node.value) if isinstance(node.value, ast.Tuple))
        elif isinstance(node, ast.keyword) and node.arg in TO_PEOPLE:
            found.update(id(part) for part in strings(node.value))
    return found


def _is_to_people(node: ast.Call) -> bool:
    name = called(node)
    return name.endswith(("Error", "Option", "Argument", "Typer")) or name in {"compile", "closest", "_failure", "warn"}


def _names(node: ast.Assign | ast.AnnAssign) -> set[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return {part.id.lower() for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)}


def in_messages(tree: ast.Module) -> Iterator[ast.Constant]:
    """Words in a message or in the advice for a model, directly or through a name."""
    named = {
        name: node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value
        for name in _names(node)
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        given = [*node.args, *(keyword.value for keyword in node.keywords)] if called(node) in MESSAGES else []
        given += [keyword.value for keyword in node.keywords if keyword.arg in {"advice", "before", "after"}]
        for value in given:
            through = [
                named[part.id.lower()] for part in ast.walk(value) if isinstance(part, ast.Name) and part.id.lower() in named
            ]
            yield from (part for source in (value, *through) for part in strings(source) if PHRASE.search(part.value))


def spoken(tree: ast.Module) -> Iterator[ast.Constant]:
    """Texts that address a model."""
    silent = spared(tree)
    for part in strings(tree):
        if id(part) not in silent and words(part.value) > 3 and SPOKEN.search(part.value):
            yield part


def prose(name: str, source: str) -> list[str]:
    """Every instruction in a source, with its place."""
    tree = ast.parse(source)
    places = {(part.lineno, part.col_offset): part.value for part in (*in_messages(tree), *spoken(tree))}
    return [f"{name}:{line}: {text[:90]!r}" for (line, _), text in sorted(places.items())]


def test_python_holds_no_instruction() -> None:
    files = [path for path in ROOT.rglob("*.py") if "_shipped" not in path.parts]
    assert len(files) > 500
    assert [place for path in files for place in prose(path.relative_to(ROOT.parent).as_posix(), path.read_text("utf-8"))] == []


@pytest.mark.parametrize(
    "source",
    [
        'TEXT = "You are a careful assistant for questions about leave."',
        'def f(x):\n    return f"Answer only from these contexts: {x}"',
        'text = ("Think about it " "step by step, then decide.")',
        'RULES = "Be brief"\nmessages = [records.Message("system", RULES)]',
        'def f(q):\n    told = f"Be brief: {q}"\n    return Message("user", told + q)',
        'Finding("own", "lacks a source", "regenerate", advice="Name your sources")',
    ],
)
def test_an_instruction_in_python_is_found(source: str) -> None:
    assert len(prose("own.py", source)) == 1


@pytest.mark.parametrize(
    "source",
    [
        '"""You are reading a docstring: answer only from it."""',
        'raise ConfigError("prompt", "answer with care", "never use this here, write it in conf")',
        'what, remedy = "holds your answer as text", "write exactly one line"',
    ],
)
def test_texts_for_people_are_not_instructions(source: str) -> None:
    assert prose("own.py", source) == []
