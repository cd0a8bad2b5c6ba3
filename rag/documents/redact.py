"""Placeholders in place of values that must not be stored."""

from collections.abc import Sequence
from dataclasses import replace

from rag.core.records import Example, Parsed, Redaction
from rag.core.roles import Redactor
from rag.core.secrets.places import placeholder, replaced

Edges = Sequence[tuple[int, int, int, int]]
"""Start and end of each value before the redaction, and of its placeholder after it."""


def redact(parsed: Parsed, redactor: Redactor) -> Parsed:
    """The content with a placeholder `[redacted: rule]` for each value that the redactor finds, in text and metadata.

    Blocks keep their text; an edge of a block inside of a value moves to the edge of its placeholder. `redactions` are all
    placeholders, with those that the content had before.
    """
    metadata = {key: redacted(value, redactor) if isinstance(value, str) else value for key, value in parsed.metadata.items()}
    blocks = tuple(replace(block, name=redacted(block.name, redactor)) for block in parsed.blocks)
    notes = tuple(redacted(note, redactor) for note in parsed.notes)
    parsed = replace(parsed, metadata=metadata, blocks=blocks, notes=notes)
    found = redactor.find(parsed.text)
    if not found:
        return parsed
    edges = _edges(found)
    new = [Redaction(edge[2], edge[3], rule, end - start) for edge, (start, end, rule) in zip(edges, found, strict=True)]
    old = (replace(each, start=moved(each.start, edges, False), end=moved(each.end, edges, True)) for each in parsed.redactions)
    blocks = tuple(
        replace(block, start=moved(block.start, edges, False), end=moved(block.end, edges, True)) for block in parsed.blocks
    )
    redactions = tuple(sorted((*new, *old), key=lambda each: each.start))
    return replace(parsed, text=replaced(parsed.text, found), blocks=blocks, redactions=redactions)


def redacted(text: str, redactor: Redactor) -> str:
    """A text with a placeholder for each value that the redactor finds."""
    return replaced(text, redactor.find(text)) if text else text


def redacted_names(names: Iterable[str], redactor: Redactor) -> dict[str, str]:
    """Paths with placeholders, by the paths; the second of two that become equal ends in `(2)` before its suffix."""
    found: dict[str, str] = {}
    for name in sorted(names, key=lambda name: (redacted(name, redactor) != name, name)):
        shown, stem = redacted(name, redactor), PurePosixPath(redacted(name, redactor))
        number, taken = 1, {*found.values()}
        found[name] = shown
    return found


def redacted_question(example: Example, redactor: Redactor) -> Example:
    """A question with placeholders in all of its texts: the question, its rewrite, its history, and its answers."""
    query = example.query
    history = tuple(replace(turn, text=redacted(turn.text, redactor)) for turn in query.history)
    text, rewrite = redacted(query.text, redactor), redacted(query.rewrite, redactor)
    answers = tuple(redacted(answer, redactor) for answer in example.answers)
    return replace(example, query=replace(query, text=text, rewrite=rewrite, history=history), answers=answers)


def _edges(found: Sequence[tuple[int, int, str]]) -> Edges:
    edges, shift = [], 0
    for start, end, rule in found:
        length = len(placeholder(rule))
        edges.append((start, end, start + shift, start + shift + length))
        shift += length - (end - start)
    return edges


def moved(place: int, edges: Edges, is_end: bool) -> int:
    """A place of the text before the redaction, in the text after it; one inside of a value moves to its placeholder's edge."""
    shift = 0
    for start, end, new_start, new_end in edges:
        if place <= start:
            break
        if place < end:
            return new_end if is_end else new_start
        shift = new_end - end
    return place + shift
