"""Retrieved passages with their provenance; known gold is marked."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.padding import Padding

from rag.core.pages import label
from rag.core.text.citations import places_of
from rag.core.types import Answer
from rag.pipeline.conversation.session import Exchange
from rag.pipeline.pipeline import Pipeline
from rag.pipeline.shapes.answer_json import answer_json, found_passages, holder, look_json
from rag.pipeline.shapes.json_shapes import FoundPassage, PipelineAnswer
from rag.reporting.terminal.answers import looked, remarks
from rag.reporting.terminal.output import escape, out, print_line, visible

EXCERPT = 400
BEFORE = 80
"""Characters that are shown before the first mark if an excerpt does not begin at the text's start."""


def passages(found: Sequence[Mapping[str, Any]]) -> None:
    """Print passages with their ranks and scores in every index, after fusion and after reranking."""
    for row, passage in enumerate(found):
        neighbour = row > 0 and bool(passage["steps"]) and _rank(passage) == _rank(found[row - 1])
        out.print(heading(passage, neighbour), soft_wrap=True)
        page = passage.get("page")
        if place := " · ".join(filter(None, (passage["section"], label(page and (page["first"], page["last"]))))):
            out.print(Padding(f"[dim]{escape(place)}[/dim]", (0, 4), expand=False))
        out.print(Padding(excerpt(passage), (0, 4, 1, 4), expand=False))


def passages_of_answer(found: Sequence[FoundPassage], answer: PipelineAnswer) -> list[dict[str, Any]]:
    """Passages that were found for an answer, with the number that cites each as `label`, and the cited words as `quoted`.

    The label is a dash for a passage that was not read. `quoted` has [start, end) in the text of the passage, and the section
    and the pages of a cited passage are those of the cited words.
    """
    numbers = {holder(found, read): read["number"] for read in answer["contexts"]}
    whole = {read["number"]: (read["start"], read["end"]) for read in answer["contexts"]}
    labelled = []
    for place, passage in enumerate(found):
        number = numbers.get(place)
        cited = [citation for citation in answer["citations"] if citation["number"] == number]
        spans = {(each["span"]["start"], each["span"]["end"]) for each in cited} - {whole.get(number or 0)}
        quoted = [{"start": start - passage["start"], "end": end - passage["start"]} for start, end in sorted(spans)]
        sections = dict.fromkeys(each["section"] for each in cited if each["section"])
        section = "; ".join(sections) if cited else passage["section"]
        pages = [each["page"] for each in cited if each["page"]]
        page = {"first": min(each["first"] for each in pages), "last": max(each["last"] for each in pages)} if pages else None
        shown = {"section": section, "page": page or passage["page"]}
        labelled.append({**passage, **shown, "label": number or "–", "quoted": quoted})
    return labelled


def heading(passage: Mapping[str, Any], neighbour: bool = False) -> str:
    """Number, span and provenance of a passage in one line, and the evidence in it.

    The number is the `label` of the passage, or else its rank. A `neighbour` of the hit before it has the rank of that hit.
    """
    number = passage.get("label") or (f"beside {_rank(passage)}" if neighbour else _rank(passage))
    ranked = {name: place for name, place in passage["steps"].items() if name != "selected"}
    steps = ", ".join(f"{name} #{place['rank']} ({place['score']:.4g})" for name, place in ranked.items())
    groups = sorted({mark["group"] + 1 for mark in passage.get("gold", ())})
    holds = f"  [bold green]evidence {', '.join(map(str, groups))}[/bold green]" if groups else ""
    holds += "  [bold]cited[/bold]" if passage.get("cited") else ""
    return f"[bold]\\[{number}][/bold] {escape(passage['chunk'])}  [cyan]{escape(steps)}[/cyan]{holds}"


def _rank(passage: Mapping[str, Any]) -> int:
    """The rank after the last step, or the number of a passage whose steps are not known."""
    steps = list(passage["steps"].values())
    return int(steps[-1]["rank"] if steps else passage["number"])


def excerpt(passage: Mapping[str, Any], most: int = EXCERPT) -> str:
    """About `most` characters of the text on one line: from its beginning, or from shortly before its first mark.

    Gold, and words that an answer cites, are put between » and «, which shows without colours too.
    """
    marked = (*passage.get("gold", ()), *passage.get("quoted", ()))
    text, marks = passage["text"], joined_ranges((mark["start"], mark["end"]) for mark in marked)
    first = min((start for start, _ in marks), default=0)
    begin = 0 if first <= most // 2 else first - BEFORE
    end = min(len(text), begin + most)
    shown, at = "… " if begin else "", begin
    for start, stop in marks:
        if start < end:
            quote = _flat(text[start : min(stop, end)])
            shown += f"{escape(_flat(text[at:start]))}[bold green]»{escape(quote)}«[/bold green]"
            at = min(stop, end)
    shown += escape(_flat(text[at:end]))
    return shown.strip() + (" …" if end < len(text) else "")


def joined_ranges(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Ranges in order, with those that touch or overlap joined and empty ones left out."""
    joined: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        if joined and start <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(joined[-1][1], end)
        elif end > start:
            joined.append((start, end))
    return joined


def _flat(text: str) -> str:
    return visible(re.sub(r"\s+", " ", text))


def read(answer: Answer) -> None:
    """Print the passages that were read for an answer."""
    for number, (hit, place) in enumerate(zip(answer.contexts, places_of(answer), strict=True), 1):
        about = {"number": number, "chunk": hit.chunk.chunk_id, "section": str(place), "text": hit.chunk.text}
        passages([{**about, "steps": {}, "cited": number in answer.reply.citations}])
    if not answer.contexts:
        out.print("[dim]No passage was read for it.[/dim]")


def explained(pipeline: Pipeline, exchange: Exchange) -> None:
    """Print how an answer came about: search texts, steps, findings, and the provenance of its passages."""
    sought, answer = exchange.trace.sought, exchange.answer
    before = sum(turn.role == "user" for turn in answer.query.history)
    out.print(f"[dim]Questions before it: {before}. Searched for:[/dim]")
    for text in sought.texts:
        print_line(f"  {text}")
    if sought.note:
        out.print(f"[yellow]{escape(sought.note)}[/yellow]", soft_wrap=True)
    if answer.input != "question":
        out.print(f"[dim]Taken for: {answer.input}.[/dim]")
    remarks(answer)
    if answer.look:
        looked(look_json(answer.look))
    found = found_passages(pipeline.corpus, exchange.trace, pipeline.k)
    passages(passages_of_answer(found, answer_json(answer, sought, pipeline.corpus)))
    if answer.left_out:
        out.print(f"[dim]{len(answer.left_out)} of these had no room in the prompt.[/dim]")
