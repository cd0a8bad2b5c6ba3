"""Instructions for models are in YAML, not in Python.

Three searches of the syntax tree, because each alone has gaps: text in calls that build messages, sentences in packages that
call models, and sentences anywhere that address a model. Docstrings and errors are not instructions.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import rag

ROOT = Path(rag.__file__).parent
ROOMS = tuple(
    f"rag/components/{name}/" for name in ("prompts", "generators", "queries", "memories", "guards", "checks", "judges")
)
TALKING = {
    "rag/pipeline/prompt/prompt_assembly.py",
    "rag/pipeline/prompt/postprocess.py",
    "rag/pipeline/pipeline.py",
    "rag/pipeline/conversation/live_history.py",
    "rag/pipeline/conversation/session.py",
    "rag/pipeline/prompt/context_packing.py",
    "rag/core/text/final_answer.py",
}
"""Other modules that handle messages."""
MESSAGES = {"Message", "Framed", "Material", "Recalled", "Turn"}
"""Classes whose text a model reads; it also reads the advice in a Finding."""
TO_PEOPLE = {"what", "remedy", "remedies", "where", "help", "message", "reason", "problem"}
"""Names whose values people read."""
WORD = re.compile(r"[^\W\d_]{2,}")
PHRASE = re.compile(r"[^\W\d_]{2,}\W*\s\W*[^\W\d_]{2,}")
SENTENCE = re.compile(r"[.:!?](?:\s|\Z)|\byou\b", re.IGNORECASE)
PATTERN = re.compile(r"\(\?[:=!<P]|\\[bswd]")
"""The text is a regular expression."""
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


def in_rooms(tree: ast.Module) -> Iterator[ast.Constant]:
    """Sentences in a package that calls models."""
    silent = spared(tree)
    for part in strings(tree):
        if id(part) not in silent and words(part.value) > 7 and SENTENCE.search(part.value) and not _is_listed(part.value):
            yield part


def _is_listed(text: str) -> bool:
    """Whether a text is a list of words, or a regular expression."""
    return bool(PATTERN.search(text)) or (words(text) > 20 and not re.search(r"[.,:;!?]", text))


def spoken(tree: ast.Module) -> Iterator[ast.Constant]:
    """Texts that address a model."""
    silent = spared(tree)
    for part in strings(tree):
        if id(part) not in silent and words(part.value) > 3 and SPOKEN.search(part.value):
            yield part


def prose(name: str, source: str) -> list[str]:
    """Every instruction in a source, with its place."""
    tree = ast.parse(source)
    talks = name in TALKING or name.startswith(ROOMS)
    found = [*in_messages(tree), *spoken(tree), *(in_rooms(tree) if talks else ())]
    places = {(part.lineno, part.col_offset): part.value for part in found}
    return [f"{name}:{line}: {text[:90]!r}" for (line, _), text in sorted(places.items())]


def test_the_listed_modules_exist() -> None:
    assert [name for name in ROOMS if not (ROOT.parent / name).is_dir()] == []
    assert [name for name in TALKING if not (ROOT.parent / name).is_file()] == []


def test_python_holds_no_instruction() -> None:
    files = [path for path in ROOT.rglob("*.py") if "_shipped" not in path.parts]
    assert len(files) > 500
    assert [place for path in files for place in prose(path.relative_to(ROOT.parent).as_posix(), path.read_text("utf-8"))] == []


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("rag/reporting/html/page.py", 'TEXT = "You are a careful assistant for questions about leave."'),
        ("rag/reporting/html/page.py", 'def f(x):\n    return f"Answer only from these contexts: {x}"'),
        ("rag/analysis/why/own.py", 'text = ("Think about it " "step by step, then decide.")'),
        ("rag/execution/graph/plan.py", 'Message("system", "Be brief")'),
        ("rag/execution/graph/plan.py", 'RULES = "Be brief"\nmessages = [records.Message("system", RULES)]'),
        ("rag/execution/graph/plan.py", 'def f(q):\n    told = f"Be brief: {q}"\n    return Message("user", told + q)'),
        ("rag/components/guards/own.py", 'Framed(texts, before="Mind the marks below")'),
        ("rag/components/checks/own.py", 'Finding("own", "lacks a source", "regenerate", advice="Name your sources")'),
        (
            "rag/components/queries/own.py",
            'PROMPT = """Here is a conversation. Give its last message a form that stands alone."""',
        ),
        (
            "rag/components/judges/own.py",
            'def ask(claim):\n    return "Is the claim below true? Say yes or no: " + claim',
        ),
        ("rag/components/memories/own.py", 'parts = ["Summarize the conversation so far"]'),
    ],
)
def test_an_instruction_in_python_is_found(name: str, source: str) -> None:
    assert len(prose(name, source)) == 1


@pytest.mark.parametrize(
    "source",
    [
        '"""You are reading a docstring: answer only from it."""',
        'raise ConfigError("prompt", "answer with care", "never use this here, write it in conf")',
        'what, remedy = "holds your answer as text", "write exactly one line"',
        'LIMIT = 3\n"""Write only what is needed."""',
        'Message("user", text)',
        'Finding("scan", "a link that no context holds", "remove", start=3, end=9)',
    ],
)
def test_texts_for_people_are_not_instructions(source: str) -> None:
    assert prose("rag/components/guards/own.py", source) == []
