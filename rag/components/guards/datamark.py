"""Datamarking: a mark before every word of a context shows the model that the word comes from a document.

After Hines et al. 2024 (arXiv:2403.14720), who replace white space by the mark. Here white space stays, so that deleting the
marks restores the text, of a context and of a reply that copied from it.
"""

import itertools
from collections.abc import Sequence

from rag.core.errors import ConfigError
from rag.core.text.templates import check_template, fill
from rag.core.types import Finding, Framed, Query, Reply, Request

WORDS = ("mark",)
PRIVATE = range(0xF0000, 0xFFFFE)


class DatamarkGuard:
    """Puts a mark before every word of every context, and removes it from replies.

    The mark is the first of `marks`, single characters, that is not in the question, its history and the contexts. If all are,
    it is the first such character of Unicode's private use area. Scripts without spaces get one mark per line: spotlight is the
    better choice for them.
    """

    def __init__(self, marks: Sequence[str], before: str = "", after: str = "") -> None:
        if not marks or any(len(mark) != 1 or mark.isspace() for mark in marks):
            raise ConfigError("guard.datamark.marks", f"are {list(marks)!r}", "one or more single characters")
        for name, words in {"before": before, "after": after}.items():
            check_template(f"guard.datamark.{name}", words, known=WORDS)
        self.marks, self.before, self.after = tuple(marks), before, after

    def frame(self, query: Query, contexts: Sequence[str]) -> Framed:
        """The contexts with marks; an empty framing without contexts."""
        if not contexts:
            return Framed(())
        mark = self.mark(query, contexts)
        around = (fill(words, {"mark": mark}) for words in (self.before, self.after))
        return Framed(tuple(marked(text, mark) for text in contexts), *around)

    def mark(self, query: Query, contexts: Sequence[str]) -> str:
        """The mark for a question and its contexts."""
        used = set().union(query.text, *(turn.text for turn in query.history), *contexts)
        return next(mark for mark in itertools.chain(self.marks, map(chr, PRIVATE)) if mark not in used)

    def inspect(self, requests: Sequence[Request], replies: Sequence[Reply]) -> list[list[Finding]]:
        """The marks that a reply copied; they are removed."""
        return [self._copied(request, reply) for request, reply in zip(requests, replies, strict=True)]

    def _copied(self, request: Request, reply: Reply) -> list[Finding]:
        mark = self.mark(request.query, request.quoted or [chunk.text for chunk in request.contexts])
        places = [place for place, character in enumerate(reply.text) if character == mark]
        return [Finding("datamark", "copies a mark of the contexts", "remove", 0, place, place + 1) for place in places]


def marked(text: str, mark: str) -> str:
    """The text with the mark before each of its words."""
    starts = zip(" " + text, text, strict=False)
    return "".join(
        mark + character if before.isspace() and not character.isspace() else character for before, character in starts
    )
