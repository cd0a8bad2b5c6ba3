"""reStructuredText → Markdown (docutils)."""

import re
from typing import Any, ClassVar

from rag.components.parsers.html_blocks import HtmlBlocks, tree_of
from rag.components.parsers.refusals import refusal, utf8
from rag.core.types import Parsed

OFF = ("file_insertion_enabled", "raw_enabled", "embed_stylesheet", "section_self_link", "toc_backlinks", "footnote_backlinks")
SETTINGS: dict[str, Any] = dict.fromkeys(OFF, False) | dict.fromkeys(("halt_level", "report_level"), 5)
SETTINGS |= {"_disable_config": True, "stylesheet_path": ""}
SETTINGS |= {"syntax_highlight": "none", "math_output": "LaTeX", "line_length_limit": 1_000_000, "output_encoding": "unicode"}
"""Settings of docutils: no files, no raw HTML, no configuration of this machine, no messages in the text."""
DIRECTIVE = re.compile(r"^[ \t]*\.\. +([A-Za-z][\w:+.-]*?)::(?:\s|$)", re.MULTILINE)
ROLE = re.compile(r":([A-Za-z][\w:+.-]*):`")
TARGET = re.compile(r"\s*<[^<>]*>$")


class RstParser:
    """reStructuredText: headings, lists, tables, code. No file is read for `include` and similar directives, raw is left out.

    The content of directives that docutils does not know, such as those of Sphinx, is text.
    """

    suffixes: ClassVar[tuple[str, ...]] = ("rst",)
    in_process: ClassVar[bool] = False

    def parse(self, data: bytes, name: str) -> Parsed:
        """The document; DataError for bytes that are not UTF-8."""
        from docutils.core import publish_parts

        source = utf8(data, name, "reStructuredText")
        with refusal(name, "reStructuredText"):
            _accept(source)
            parts = publish_parts(source, source_path=name, writer="html5", settings_overrides=SETTINGS)
            blocks = HtmlBlocks()
            blocks.read(tree_of(parts["html_body"]).find("body"))
            return blocks.text.parsed({})


def _accept(source: str) -> None:
    """Make the directives and roles of a text known that docutils does not know: their content is text."""
    from docutils import nodes
    from docutils.languages import get_language
    from docutils.parsers.rst import Directive, directives, roles
    from docutils.utils import new_document

    class Content(Directive):  # type: ignore[misc]
        optional_arguments, final_argument_whitespace, has_content = 1, True, True
        option_spec: ClassVar[Any] = None

        def run(self) -> list[Any]:
            container = nodes.container()
            if self.arguments:
                container += nodes.paragraph("", self.arguments[0])
            self.state.nested_parse(self.content, self.content_offset, container)
            return [container]

    document, english = new_document("", None), get_language("en")
    for name in set(DIRECTIVE.findall(source)):
        if directives.directive(name, english, document)[0] is None:
            directives.register_directive(name, Content)
    for name in set(ROLE.findall(source)):
        if roles.role(name, english, 0, document.reporter)[0] is None:
            roles.register_local_role(name, _words)


def _words(name: str, raw: str, text: str, line: int, *_: Any, **__: Any) -> tuple[list[Any], list[Any]]:
    """The words of a role, without the target of a reference."""
    from docutils import nodes

    return [nodes.Text(TARGET.sub("", text).lstrip("~!"))], []
