"""What `requires-python` promises: CPython 3.11.0 to 3.11.4 match possessive groups wrongly (gh-106052)."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PATTERN = re.compile(r"\)(?:[*+?]|\{[\d,]*\})\+|\(\?>")


def test_no_pattern_has_a_possessive_group() -> None:
    found = [path.name for path in sorted((ROOT / "rag").rglob("*.py")) if PATTERN.search(path.read_text(encoding="utf-8"))]
    assert found == []
