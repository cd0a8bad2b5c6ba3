"""A report as Markdown: the findings of the page as text, for a terminal, a review or an archive."""

import re

from markupsafe import Markup

from rag.reporting.html import page, wording
from rag.reporting.html.view_model import Material

SPECIAL = re.compile(r"([\\`*_\[\]|~$])")
BEGINS = re.compile(r"^([#+=>-]|\d+(?=[.)]))")


def render(material: Material) -> str:
    """The whole report. Names and texts of documents are escaped, so that they are shown as text."""
    environment = page.environment(finalize=_escaped)
    environment.filters["code"] = lambda text: Markup(code(text))  # noqa: S704 (Markdown, in which a code span is text)
    names = {"m": material, "head": wording.headline(material), "say": wording}
    return environment.get_template("report.md").render(**names, board=page.board(material), heat=page.heat(material)) + "\n"


def _escaped(value: object) -> Markup:
    return value if isinstance(value, Markup) else Markup(escape_markdown(str(value)))  # noqa: S704 (escaped here)


def escape_markdown(text: str) -> str:
    """Text on one line in which Markdown finds no markup and no HTML."""
    text = SPECIAL.sub(r"\\\1", " ".join(str(text).split()))
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("://", "&#58;//")
    return BEGINS.sub(_escaped_start, text)


def _escaped_start(match: re.Match[str]) -> str:
    """Escape a sign or a digit that would begin a heading, a list or a quotation."""
    return f"&#{ord(match[1])};" if len(match[1]) == 1 else f"&#{ord(match[1][0])};{match[1][1:]}"


def code(text: str) -> str:
    """Text in a code span that no backtick in it can end."""
    text = " ".join(str(text).split())
    fence = "`" * (1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text}{pad}{fence}"
