"""The layout of a passage in a prompt: its text with what its document says of it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rag.core.text.templates import fill
from rag.core.types import Source

SOURCE = ("text", "document", "title", "section", "page", "date", "status")
"""The placeholders for the parts of a source in `context_format`; `text` is needed, `date` and `status` are metadata."""
BLANKS = re.compile(r" +(?=[ \n])")
"""The spaces around a part that a source does not have."""
LABEL = 200
"""The most characters that are shown of a document's name, a title and a section."""


@dataclass(frozen=True)
class SourceLayout:
    """Lays out sources by parameters that a `SectionPrompt` has, too; `form` is the inner part of `context_format`."""

    form: str = "{text}"
    figure_format: str = "{text}"
    metadata: Sequence[str] = ()

    def quoted(self, sources: Sequence[Source]) -> tuple[str, ...]:
        """The text of each source, which guards frame."""
        head, text = self.form[: (at := self.form.index("{text}"))], self.form[at:]
        rows = (self._values(number, source) for number, source in enumerate(sources, 1))
        return tuple(BLANKS.sub("", fill(head, values)) + fill(text, values) for values in rows)

    def _values(self, number: int, source: Source) -> dict[str, str]:
        values = {name: source.metadata.get(name, "") for name in (*SOURCE, *self.metadata)}
        known = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in values.items()}
        section, page = source.section or source.title, str(source.page or "")
        labels = known | {"document": source.document, "title": source.title, "section": section, "page": page}
        return {name: _label(text) for name, text in labels.items()} | {"number": str(number), "text": self._text(source)}

    def _text(self, source: Source) -> str:
        """The text of a source, its descriptions of figures in `figure_format`."""
        pieces, at = list[str](), 0
        for start, end in source.figures:
            pieces += [source.text[at:start], fill(self.figure_format, {"text": source.text[start:end]})]
            at = end
        return "".join([*pieces, source.text[at:]])


def _label(text: str) -> str:
    """A name on one line, without characters that begin another line."""
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
    return line if len(line) <= LABEL else f"{line[: LABEL - 1].rstrip()}…"
