"""What `requires-python` promises: CPython 3.11.0 to 3.11.4 match possessive groups wrongly (gh-106052)."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PATTERN = re.compile(r"\)(?:[*+?]|\{[\d,]*\})\+|\(\?>")


def test_no_pattern_has_a_possessive_group() -> None:
    found = [path.name for path in sorted((ROOT / "rag").rglob("*.py")) if PATTERN.search(path.read_text(encoding="utf-8"))]
    assert found == []


@pytest.mark.parametrize("source", [r"(?:a b?)*+c", r"(ab?)++ ", r"(?:a?b){2,}+x", "(?>ab?)"])
def test_a_possessive_group_is_found(source: str) -> None:
    assert PATTERN.search(source)
