"""The layout of a condensed context in a prompt."""

from dataclasses import dataclass

from rag.core.looks import KINDS, Condensed
from rag.core.text.templates import check_template, fill


@dataclass(frozen=True)
class CondensedLayout:
    """Headings of the three kinds of items, and templates of an item and of the number of a source."""

    facts: str
    constraints: str
    open_issues: str
    item: str = "- {text} {sources}"
    source: str = "[{number}]"

    def __post_init__(self) -> None:
        check_template("prompt.condensed.item", self.item, ("text", "sources"), ("text", "sources"))
        check_template("prompt.condensed.source", self.source, ("number",), ("number",))

    def shown(self, condensed: Condensed) -> str:
        """The items under their headings; a kind without items is left out."""
        blocks = []
        for kind in KINDS:
            lines = [getattr(self, kind)]
            for item in getattr(condensed, kind):
                sources = "".join(fill(self.source, {"number": str(number)}) for number in item.sources)
                lines.append(fill(self.item, {"text": item.text, "sources": sources}).rstrip())
            blocks += ["\n".join(lines)] if lines[1:] else []
        return "\n\n".join(blocks)
