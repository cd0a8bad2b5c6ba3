"""Placeholders in place of values that must not be stored."""

from dataclasses import replace

from rag.core.records import Parsed, Redaction
from rag.core.roles import Redactor


def redact(parsed: Parsed, redactor: Redactor) -> Parsed:
    """The content with a placeholder `[redacted: rule]` for each value that the redactor finds; blocks keep their text."""
    found = redactor.find(parsed.text)
    if not found:
        return parsed
    pieces: list[str] = []
    redactions: list[Redaction] = []
    edges: list[tuple[int, int, int, int]] = []  # start and end before, start and end after
    after = last = 0
    for start, end, rule in found:
        placeholder = f"[redacted: {rule}]"
        pieces += [parsed.text[last:start], placeholder]
        after += start - last
        edges.append((start, end, after, after + len(placeholder)))
        redactions.append(Redaction(after, after + len(placeholder), rule, end - start))
        after, last = after + len(placeholder), end
    text = "".join([*pieces, parsed.text[last:]])
    blocks = tuple(
        replace(block, start=_moved(block.start, edges, False), end=_moved(block.end, edges, True)) for block in parsed.blocks
    )
    return replace(parsed, text=text, blocks=blocks, redactions=tuple(redactions))


def _moved(place: int, edges: list[tuple[int, int, int, int]], is_end: bool) -> int:
    """A place in the text after the redaction; a place inside a value moves to the edge of its placeholder."""
    shift = 0
    for start, end, new_start, new_end in edges:
        if place <= start:
            break
        if place < end:
            return new_end if is_end else new_start
        shift = new_end - end
    return place + shift
