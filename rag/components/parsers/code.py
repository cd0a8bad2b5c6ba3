"""Source code, settings and logs → fenced code, below a heading for each definition."""

import re
from typing import ClassVar

from rag.core.types import Parsed
from rag.documents.folder.files import decode
from rag.documents.pages.markdown_text import MarkdownText

FIRST = r"(?:(?:export|default|async|public|private|protected|static|abstract|final|pub)[ ])"
NAMED = "def|class|func|function|fn|interface|enum|record|struct|trait|impl|type|namespace"
DEFINITION = re.compile(
    rf"""
    (?:^[ \t]*(?:[@\#*]|//|/\*|--)[^\n]{{0,500}}\n){{0,40}}   # comments and decorators above it
    ^(?P<blanks>[ \t]*)(?P<title>
        {FIRST}{{0,6}}(?:{NAMED})[ ](?:\([^)\n]{{0,100}}\)[ ])?\w+
      | {FIRST}{{1,6}}(?:[\w<>\[\],.? ]{{1,100}}[ ])?\w+(?=\([^;\n]{{0,300}}\{{)
      | (?i:create[ ](?:or[ ]replace[ ]|temp[ ]|temporary[ ]|unique[ ]|materialized[ ])?
        (?:table|view|function|procedure|index|trigger)[ ](?:if[ ]not[ ]exists[ ])?)[\w.]+
      | \w+(?=[ ]?\(\)[ ]*\{{?$)
      | \[{{1,2}}\w[^\[\]\n]{{0,200}}\]{{1,2}}(?=[ \t]*$)
    )
    """,
    re.MULTILINE | re.VERBOSE,
)
"""The start of a function, class, type, table of a database, or [section]; a method without a keyword has a modifier."""


class CodeParser:
    """Files of programs as they are, in fences: a heading for each definition or section has its first words.

    A definition with more white space before it is below the one above it. Comments right above a definition belong to it.
    """

    suffixes: ClassVar[tuple[str, ...]] = ("py", "toml", "ini", "js", "ts", "java", "go", "rs", "sql", "sh", "xml", "log")
    in_process: ClassVar[bool] = False

    def parse(self, data: bytes, name: str) -> Parsed:
        """The text of a file; DataError if it is not UTF-8."""
        source, language = decode(data, name), name.rpartition(".")[2]
        text, found = MarkdownText(), [] if language in ("xml", "log") else list(DEFINITION.finditer(source))
        starts = [*(match.start() for match in found), len(source)]
        text.code(source[: starts[0]], language)
        above: list[int] = []
        for match, end in zip(found, starts[1:], strict=True):
            depth = len(match["blanks"].expandtabs())
            above = [*(other for other in above if other < depth), depth]
            text.heading(len(above), match["title"])
            text.code(source[match.start() : end], language)
        return text.parsed({})
