"""Files of programs: sections by definition."""

import pytest

from rag.components.parsers.code import CodeParser
from rag.core import headings

CASES = {
    "a.py": ("# x\n@on\nclass A:\n    async def f(a):\n        b\ndef g(): c\n", "class A|class A > async def f|def g"),
    "a.go": ("// Run runs.\nfunc (s *Server) Run() error {\n}\ntype Server struct {\n}\n", "func (s *Server) Run|type Server"),
    "a.java": ("final class S {\n  private A<B> f(B b) {\n    if (b) {\n", "final class S|final class S > private A<B> f"),
    "a.sql": ("-- people\nCREATE TABLE IF NOT EXISTS people (\n  id int);\n", "CREATE TABLE IF NOT EXISTS people"),
    "a.toml": ("# all\n[tool.a]\nb = [\n  1,\n]\n[[c]]\n", "[tool.a]|[[c]]"),
    "a.log": ("type error\n# not a heading\n", ""),
}


@pytest.mark.parametrize("name", CASES)
def test_definitions_are_sections_and_every_line_is_kept(name: str) -> None:
    source, paths = CASES[name]
    content = CodeParser().parse(source.encode(), name)
    assert "|".join(section.path for section in headings.sections(content.text)[1:]) == paths
    fences = [content.text[block.start : block.end].split("\n")[1:-1] for block in content.blocks if block.kind == "code"]
    assert [line for fence in fences for line in fence] == source.strip("\n").split("\n")
