"""Files of programs: sections by definition."""

import pytest

from rag.components.parsers.code import CodeParser
from rag.core import headings

CASES = {
    "a.py": ("import os\n# of x\n@once\nclass A:\n    async def f(self):\n        pass\n# g\ndef g(): pass\n", ["class A", "class A > async def f", "def g"]),
    "a.go": ("// Run runs.\nfunc (s *Server) Run() error {\n}\ntype Server struct {\n}\n", ["func (s *Server) Run", "type Server"]),
    "a.java": ("public class S {\n  private List<A> keep(B b) {\n    if (b) { go(b); }\n  }\n}\n", ["public class S", "public class S > private List<A> keep"]),
    "a.ts": ("export default function f(a) {\n}\n", ["export default function f"]),
    "a.sql": ("-- people\nCREATE TABLE IF NOT EXISTS people (\n  id int);\n", ["CREATE TABLE IF NOT EXISTS people"]),
    "a.toml": ("# all\n[tool.a]\nb = [\n  1,\n]\n[[c]]\n", ["[tool.a]", "[[c]]"]),
    "a.sh": ("start() {\n}\n", ["start"]),
    "a.log": ("type error\n# not a heading\n", []),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_definitions_are_sections_and_every_line_is_kept(name: str) -> None:
    source, paths = CASES[name]
    text = CodeParser().parse(source.encode(), name).text
    assert [section.path for section in headings.sections(text)[1:]] == paths
    kept = [line for line in text.split("\n") if line and not line.startswith(("```", "# class", "## ", "# def"))]
    assert [line for line in source.split("\n") if line] == [line for line in kept if line in source.split("\n")]
