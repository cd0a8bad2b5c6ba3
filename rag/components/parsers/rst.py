"""reStructuredText → Markdown (docutils)."""

import re
from typing import Any, ClassVar

from rag.components.parsers.html_blocks import HtmlBlocks
from rag.components.parsers.refusals import refusal, refuse_other
from rag.core.records import Parsed
from rag.documents.files import decode

SETTINGS = {
    "file_insertion_enabled": False,
    "raw_enabled": False,
    "_disable_config": True,
    "halt_level": 5,
    "report_level": 5,
    "embed_stylesheet": False,
    "stylesheet_path": "",
    "syntax_highlight": "none",
    "math_output": "LaTeX",
    "line_length_limit": 1_000_000,
    "section_self_link": False,
    "toc_backlinks": False,
    "footnote_backlinks": False,
    "output_encoding": "unicode",
}
DIRECTIVE = re.compile(r"^[ \t]*\.\. +([A-Za-z][\w:+.-]*?)::(?:\s|$)", re.MULTILINE)


class RstParser:
    """reStructuredText: headings, lists, tables, code. No file is read for `include` and similar directives, raw is left out.

    The content of directives that docutils does not know, such as those of Sphinx, is text.
    """

    suffixes: ClassVar[tuple[str, ...]] = ("rst",)
    in_process: ClassVar[bool] = False

    def parse(self, data: bytes, name: str) -> Parsed:
        """The document; DataError for bytes that are not UTF-8."""
        from docutils.core import publish_parts
        from lxml.html import fragment_fromstring

        refuse_other(data, name, "reStructuredText")
        source = decode(data, name)
        with refusal(name, "reStructuredText"):
            _accept(set(DIRECTIVE.findall(source)))
            parts = publish_parts(source, source_path=name, writer="html5", settings_overrides=SETTINGS)
            tree = fragment_fromstring(parts["html_body"] or "<p></p>", create_parent="div")
            blocks = HtmlBlocks("")
            blocks.read(tree)
            return blocks.text.parsed({})


def _accept(names: set[str]) -> None:
    """Make directives known that docutils does not know: their content is parsed as text."""
    from docutils import nodes
    from docutils.languages import get_language
    from docutils.parsers.rst import Directive, directives
    from docutils.utils import new_document

    class Content(Directive):
        optional_arguments, final_argument_whitespace, has_content = 1, True, True
        option_spec: ClassVar[Any] = None

        def run(self) -> list[Any]:
            container = nodes.container()
            if self.arguments:
                container += nodes.paragraph("", self.arguments[0])
            self.state.nested_parse(self.content, self.content_offset, container)
            return [container]

    document, english = new_document("", None), get_language("en")
    for name in names:
        if directives.directive(name, english, document)[0] is None:
            directives.register_directive(name, Content)
