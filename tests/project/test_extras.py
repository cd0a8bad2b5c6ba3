"""Every extra that an error names exists and installs the missing package."""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]


def calls() -> Iterator[tuple[str, ast.Call]]:
    """Every place in rag/ that raises MissingExtraError."""
    for path in sorted((ROOT / "rag").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            named = isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] == "MissingExtraError"
            if named and len(node.args) > 2:  # else the package alone, which `install` finds an extra for
                yield f"{path.relative_to(ROOT).as_posix()}:{node.lineno}", node


CALLS = dict(calls())


def test_places_are_found() -> None:
    assert any(place.startswith("rag/components/embedders/openai.py") for place in CALLS)


@pytest.mark.parametrize("place", CALLS)
def test_the_extra_exists_and_installs_the_package(place: str) -> None:
    package, extra = (ast.literal_eval(argument) for argument in CALLS[place].args[1:])
    assert extra in EXTRAS
    assert package in {re.split(r"[\[<>=!~; ]", requirement)[0] for requirement in EXTRAS[extra]}
