"""Checks of shapes and condensed contexts, which a model may have written; a problem is a ValueError that says what it is."""

from collections.abc import Sequence

from rag.core.looks import KINDS, Condensed, Item, Shape
from rag.core.text.stated import Stated
from rag.core.text.values.words import BEGINS

HEADERS = ("role", "task", "format", "audience", "limits")
"""The names of the lines that a shape may add to a prompt."""
LINE, LABEL = 200, 80
"""The most characters of a header, and of an intent or a domain."""
ITEMS, TEXT = 12, 1000
"""The most items of each kind in a condensed context, and the most characters of one."""


def one_line(text: str, most: int | None = None) -> str:
    """A text on one line, without characters that cannot be printed, cut to `most` characters."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())[:most].strip()


def check_shape(shape: Shape) -> None:
    """Raise ValueError for a header that is unknown or given twice, and for a text that is too long or not one line."""
    names = [name for name, _ in shape.headers]
    if not {*names} <= {*HEADERS} or len({*names}) < len(names):
        raise ValueError(f"has the headers {', '.join(names)[:LABEL]!r}; each once, there is: {', '.join(HEADERS)}")
    texts = [(shape.intent, LABEL), (shape.domain, LABEL), *((text, LINE) for _, text in shape.headers)]
    if wrong := [text for text, most in texts if len(text) > most or one_line(text) != text]:
        raise ValueError(f"has a text of {len(wrong[0])} characters; it is one line of at most {LINE}, or {LABEL} for a name")


def check_condensed(condensed: Condensed, passages: Sequence[str], question: str = "") -> None:
    """Raise ValueError for an item without text or source, with a source that does not exist, or with a value of its own.

    Values are numbers, codes and names: those of a fact or a constraint must be in one of its `passages`. The first word of a
    sentence is a name where the `question` has it with a capital. An open issue needs no source.
    """
    for kind in KINDS:
        items: tuple[Item, ...] = getattr(condensed, kind)
        if len(items) > ITEMS:
            raise ValueError(f"has {len(items)} {kind}, and at most {ITEMS} are allowed")
        for item in items:
            if not 0 < len(item.text.strip()) <= TEXT:
                raise ValueError(f"has an item of {len(item.text.strip())} characters in {kind}; 1 to {TEXT} are allowed")
            if wrong := [number for number in item.sources if not 1 <= number <= len(passages)]:
                raise ValueError(f"cites source {wrong[0]}, and there are {len(passages)}")
            if kind != "open_issues":
                _check_values(item, "\n".join(passages[number - 1] for number in item.sources), question)
    if not condensed.facts and not condensed.constraints:
        raise ValueError("holds no fact")


def _check_values(item: Item, cited: str, question: str) -> None:
    if not item.sources:
        raise ValueError(f"names no source of {item.text[:60]!r}")
    own, there = Stated.of(item.text, "english"), Stated.of(cited, "english")  # only numbers, codes and names are compared
    for fact in own.facts:
        word = own.text[fact.start : fact.end]
        begins = word.isalpha() and BEGINS.search(own.text[: fact.start])
        named = fact.kind == "number" or not begins or f" {word}" in question.strip()
        if fact.kind != "word" and not fact.weak and named and not there.has(fact):
            raise ValueError(f"says {word!r}, which its sources do not have")
