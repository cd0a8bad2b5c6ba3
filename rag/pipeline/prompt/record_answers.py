"""Answers from records: sentences about a result, without a model."""

from collections.abc import Collection, Mapping, Sequence

from rag.core.looks import Look
from rag.core.records.queries import Result
from rag.core.text.citations import without_markers
from rag.core.text.templates import fill
from rag.core.types import Chunk, Reply

SHOWN = 50
"""The most values of a result in an answer."""
PLAIN = {"none": "None.", "value": "{value}{sources}.", "list": "{count}{sources}:\n{items}", "item": "- {value}{sources}"}
PLAIN |= {"more": "- + {count}", "cited": "({shown}/{count})", "withheld": "…"}
"""The sentences of a prompt that has none of its own."""


def texts_of(look: Look | None) -> tuple[str, ...]:
    """The texts of records that a reader or a model gets to see: values of an answer, or results for the prompt."""
    if look is None:
        return ()
    return look.result.values[:SHOWN] if look.result and look.answers else look.results


def answer_of(result: Result, contexts: Sequence[Chunk], sentences: Mapping[str, str], withheld: Collection[int] = ()) -> Reply:
    """The sentences about a result, with the numbers of the contexts that hold its records.

    `withheld` are the places of values that a guard does not let through. A value has the number of its own source where there
    is one source for each; otherwise the sources follow the whole answer.
    """
    said = {**PLAIN, **sentences}
    if not result.rows:
        return Reply(said["none"])
    numbers = numbers_of(result, contexts)
    if result.value and not (result.values and 0 in withheld):
        word = said.get(result.value, _line(result.value)) if result.columns == ("exists",) else _line(result.value)
        return _cited(fill(said["value"], {"value": word, "sources": _markers(numbers)}), numbers, said)
    count = len(result.values) + result.left_out
    own = numbers if len(numbers) == len(result.values) else []
    items = [said["withheld"] if place in withheld else _line(value) for place, value in enumerate(result.values[:SHOWN])]
    lines = [
        fill(said["item"], {"value": item, "sources": _markers(own[place : place + 1])}) for place, item in enumerate(items)
    ]
    lines += [fill(said["more"], {"count": f"{count - SHOWN:,}"})] if count > SHOWN else []
    head = {"count": f"{count:,}", "items": "\n".join(lines), "sources": "" if own else _markers(numbers)}
    return _cited(fill(said["list"], head), numbers, said)


def _cited(text: str, numbers: Sequence[int], said: Mapping[str, str]) -> Reply:
    """An answer that says how many of its records it cites, where it does not cite all."""
    shown = sum(1 for number in numbers if number)
    note = fill(said["cited"], {"shown": f"{shown:,}", "count": f"{len(numbers):,}"}) if shown < len(numbers) else ""
    return Reply("\n".join(filter(None, (text, note))))


def _markers(numbers: Sequence[int]) -> str:
    known = "".join(f"[{number}]" for number in dict.fromkeys(numbers) if number)
    return f" {known}" if known else ""


def _line(value: str) -> str:
    """A value on one line, without what would be read as a citation."""
    return without_markers(" ".join(value.split()))


def numbers_of(result: Result, contexts: Sequence[Chunk]) -> list[int]:
    """The number of the context, from 1, with the most characters of each source; 0 for a source that no context shows."""
    numbers = []
    for doc_id, start, end in result.sources:
        shared = [
            min(chunk.span.end, max(end, start + 1)) - max(chunk.span.start, start) if chunk.span.doc_id == doc_id else 0
            for chunk in contexts
        ]
        most = max(shared, default=0)
        numbers.append(shared.index(most) + 1 if most > 0 else 0)
    return numbers
