"""A mark before every word of a quoted text, so that a model sees at each of them where it comes from.

Datamarking after Hines et al. 2024 (arXiv:2403.14720). They put the mark in the place of white space; here white space stays,
so that deleting the marks gives back the text, of a context as of a reply that copied from one.
"""

import itertools
from collections.abc import Sequence

from rag.components.guards.prompt_texts import filled, placeholders
from rag.core.errors import ConfigError
from rag.core.records import Finding, Framed, Query, Reply, Request

WORDS = ("mark",)
PRIVATE = range(0xF0000, 0xFFFFE)


class DatamarkGuard:
    """Puts a mark before every word of every context, and takes it out of replies.

    The mark is the first of `marks`, single characters, that stands nowhere in the question, its history and the contexts; for
    documents that hold all of them, the first such character of Unicode's private use area. Scripts that write without spaces
    are marked once a line: spotlight is the better choice for them.
    """

    def __init__(self, marks: Sequence[str], before: str = "", after: str = "") -> None:
        if not marks or any(len(mark) != 1 or mark.isspace() for mark in marks):
            raise ConfigError("guard.datamark.marks", f"are {list(marks)!r}", "one or more single characters")
        for name, words in {"before": before, "after": after}.items():
            placeholders(words, f"guard.datamark.{name}", WORDS)
        self.marks, self.before, self.after = tuple(marks), before, after

    def frame(self, query: Query, contexts: Sequence[str]) -> Framed:
        """The contexts with marks; nothing at all where there are no contexts."""
        if not contexts:
            return Framed(())
        mark = self.mark(query, contexts)
        said = (filled(words, mark=mark) for words in (self.before, self.after))
        return Framed(tuple(marked(text, mark) for text in contexts), *said)

    def mark(self, query: Query, contexts: Sequence[str]) -> str:
        """The mark of a request."""
        used = set().union(query.text, *(turn.text for turn in query.history), *contexts)
        return next(mark for mark in itertools.chain(self.marks, map(chr, PRIVATE)) if mark not in used)

    def inspect(self, requests: Sequence[Request], replies: Sequence[Reply]) -> list[list[Finding]]:
        """Marks that a reply copied, which are cut out of it."""
        return [self._copied(request, reply) for request, reply in zip(requests, replies, strict=True)]

    def _copied(self, request: Request, reply: Reply) -> list[Finding]:
        mark = self.mark(request.query, request.quoted or [chunk.text for chunk in request.contexts])
        places = [place for place, character in enumerate(reply.text) if character == mark]
        return [Finding("datamark", "copies a mark of the contexts", "remove", 0, place, place + 1) for place in places]


def marked(text: str, mark: str) -> str:
    """`text` with the mark before each of its words."""
    starts = zip(" " + text, text, strict=False)
    return "".join(
        mark + character if before.isspace() and not character.isspace() else character for before, character in starts
    )
