"""Placeholders in place of values that must not be stored."""

from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, count
from pathlib import PurePosixPath

from rag.core.roles import Redactor
from rag.core.secrets.places import placeholder, replaced
from rag.core.text.edits import Cut, Edited
from rag.core.types import Example, Parsed, Redaction


def redact(parsed: Parsed, redactor: Redactor) -> Parsed:
    """The content with a placeholder `[redacted: rule]` for each value that the redactor finds, in text and metadata.

    Blocks keep their text; an edge of a block inside of a value moves to the edge of its placeholder. `redactions` are all
    placeholders, with those that the content had before.
    """
    texts = {key: redacted(value, redactor) if isinstance(value, str) else value for key, value in parsed.metadata.items()}
    metadata = {redacted(key, redactor): value for key, value in texts.items()}
    blocks = tuple(replace(block, name=redacted(block.name, redactor)) for block in parsed.blocks)
    notes = tuple(redacted(note, redactor) for note in parsed.notes)
    parsed = replace(parsed, metadata=metadata, blocks=blocks, notes=notes)
    found = redactor.find(parsed.text)
    if not found:
        return parsed
    edited = Edited.of(parsed.text, [Cut(start, end, placeholder(rule)) for start, end, rule in found])
    new = edited.moved([Redaction(start, end, rule, end - start) for start, end, rule in found])
    redactions = tuple(sorted((*new, *edited.moved(parsed.redactions)), key=lambda each: each.start))
    return replace(parsed, text=edited.text, blocks=edited.moved(parsed.blocks), redactions=redactions)


def redacted(text: str, redactor: Redactor) -> str:
    """A text with a placeholder for each value that the redactor finds."""
    return replaced(text, redactor.find(text)) if text else text


def redacted_names(names: Collection[str], redactor: Redactor) -> dict[str, str]:
    """Names of files with placeholders, by name; of names that become equal, all but the first get a number: `x (2).md`."""
    lines = [line for name in sorted(names) for line in (name, name.removesuffix(PurePosixPath(name).suffix))]
    ends = list(accumulate(len(line) + 2 for line in lines))
    spans = redactor.find("\n\n".join(lines))  # one search: most folders have no such name
    found = {lines[bisect_right(ends, place) // 2 * 2] for start, end, _ in spans for place in (start, end - 1)}
    shown: dict[str, str] = {}
    taken: set[str] = set()
    for name in lines[::2]:
        new = first = _redacted_name(name, redactor) if name in found else name
        suffix = PurePosixPath(first).suffix
        numbers = count(2)
        while new in taken:
            new = f"{first.removesuffix(suffix)} ({next(numbers)}){suffix}"
        taken.add(new)
        shown[name] = new
    return shown


def _redacted_name(name: str, redactor: Redactor) -> str:
    """A path with placeholders; the folders and the suffix stay, unless a value includes their ends."""
    suffix = PurePosixPath(name).suffix
    parts = name.removesuffix(suffix).split("/")
    return redacted("/".join(redacted(part, redactor) for part in parts) + suffix, redactor)


def redacted_questions(examples: Sequence[Example], redactor: Redactor) -> tuple[Example, ...]:
    """Questions with placeholders in all texts and names; of ids that become equal, all but the first get a number."""
    ids = {name for example in examples for name in (example.query.query_id, example.cluster, example.dialogue)}
    shown = redacted_names(ids, redactor)
    return tuple(_redacted_question(example, shown, redactor) for example in examples)


def _redacted_question(example: Example, shown: Mapping[str, str], redactor: Redactor) -> Example:
    query = example.query
    history = tuple(replace(turn, text=redacted(turn.text, redactor)) for turn in query.history)
    text, rewrite, kind = (redacted(each, redactor) for each in (query.text, query.rewrite, example.kind))
    answers, tags = (tuple(redacted(each, redactor) for each in texts) for texts in (example.answers, example.tags))
    query = replace(query, query_id=shown[query.query_id], text=text, rewrite=rewrite, history=history)
    example = replace(example, cluster=shown[example.cluster], dialogue=shown[example.dialogue])
    return replace(example, query=query, answers=answers, kind=kind, tags=tags)
