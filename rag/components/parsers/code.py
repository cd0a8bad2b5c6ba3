"""Source code, settings and logs → fenced code, below a heading for each definition."""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import ClassVar

from rag.core.types import Parsed
from rag.documents.folder.files import decode
from rag.documents.pages.markdown_text import MarkdownText

NAMED = r"def|class|func|function\*?|interface|enum|record|struct|trait|type|namespace|module"
DEFINITION = re.compile(
    rf"""
    (?:^[ \t]*+(?:@|\#|//|/\*|\*|--)[^\n]{{0,500}}\n){{0,40}}          # comments and decorators above it
    ^(?P<blanks>[ \t]*+)(?P<title>
      (?:(?:export|default|async|public|private|protected|static|abstract|final)[ ])*+
        (?: (?:{NAMED})[ ](?:\([^)\n]{{0,100}}\)[ ])?\w+ | (?<=[ ])[\w<>\[\], .?]{{1,100}}[ ]\w+(?=\([^;\n]{{0,300}}\{{) )
      | (?i:create)[ ](?:(?i:or[ ]replace|temp|temporary|unique|materialized)[ ]){{0,3}}
        (?i:table|view|function|procedure|index|trigger|type|schema)[ ](?:(?i:if[ ]not[ ]exists)[ ])?[\w."]+
      | \w+(?=[ ]?\(\)[ ]*\{{?$)
      | \[{{1,2}}\w[^\[\]\n]{{0,200}}\]{{1,2}}(?=[ \t]*$)
    )
    """,
    re.MULTILINE | re.VERBOSE,
)
"""The start of a function, class, type, table of a database, or section; methods of Java have a modifier and a brace."""


class CodeParser:
    """Files of programs as they are, in fences: a heading for each definition or section has its first words.

    A definition with more white space before it is below the one above it. Comments right above a definition belong to it.
    """

    suffixes: ClassVar[tuple[str, ...]] = tuple("py toml ini cfg js ts java go rs sql sh xml log".split())
    in_process: ClassVar[bool] = False

    def parse(self, data: bytes, name: str) -> Parsed:
        """The text of a file; DataError if it is not UTF-8."""
        source, language = decode(data, name), name.rpartition(".")[2]
        text, found = MarkdownText(), list(DEFINITION.finditer(source))
        text.code(source[: found[0].start() if found else None], language)
        above: list[int] = []
        for match, after in pairwise([*found, None]):
            assert match
            depth = len(match["blanks"].expandtabs())
            above = [*(other for other in above if other < depth), depth]
            text.heading(len(above), match["title"])
            text.code(source[match.start() : after.start() if after else None], language)
        return text.parsed({})
