"""An answer with its remarks: that it declines, the findings of checks and guards, the cited passages."""

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from rag.analysis.finding_counts import DONE
from rag.config.compose import written
from rag.config.validation import asks_model
from rag.core.figures import amount
from rag.core.looks import Look
from rag.core.roles import Generator, changes_nothing
from rag.core.text.citations import CitedPlace, places_of
from rag.core.types import REPLIED, Answer, Chunk, Finding, Sought
from rag.pipeline.shapes.json_shapes import AnswerLook
from rag.reporting.terminal.output import escape, out, stream, visible

QUOTED = "No model is configured: sentences are quoted."


def print_difference(sentence: str) -> None:
    """Print how the pipeline differs from the trial that was named."""
    out.print(escape(sentence), style="dim", soft_wrap=True)


def propose_lock(names: Sequence[str], command: str = "") -> None:
    """Print what reads files whole whose names are in a question: a command of a chat, or an override; nothing for none."""
    if names:
        listed = ",".join(written("lock", name).removeprefix("lock=") for name in names)
        shown = f"{command} {shlex.join(names)}" if command else shlex.quote(f"lock=[{listed}]")
        does = "[dim]reads the files that the question names, without a search.[/dim]"
        out.print(f"[cyan]{escape(visible(shown))}[/cyan] {does}", soft_wrap=True)


def answered(answer: Answer, generator: Generator, heard: str) -> None:
    """End an answer of which `heard` was streamed; print the answer itself if it differs, then its remarks."""
    text = answer.reply.text
    if heard:
        out.print()
    if heard.strip() != text.strip():
        if heard:
            out.print("[yellow]This was a draft. The answer:[/yellow]")
        out.print(escape(text.strip())) if out.is_terminal else stream(f"{text}\n")
    if not text.strip():
        out.print(
            f"No answer: {'generator=none gives none' if changes_nothing(generator) else 'nothing in the passages fits'}."
        )
    remarks(answer)


def remarks(answer: Answer) -> None:
    """Print whether an answer declines, and a line per finding but those on pleasantries and the like."""
    replies = [finding for finding in answer.findings if finding.input in REPLIED]
    if answer.abstained and answer.reply.text.strip() and not replies:
        out.print("[yellow]This declines to answer.[/yellow]")
    for finding in (each for each in answer.findings if each not in replies):
        out.print(f"[yellow]{escape(_remark(finding))}[/yellow]", soft_wrap=True)


def unusable(config: Mapping[str, Any], sought: Sought, look: Look | None) -> None:
    """Print the helpers with a model that gave no usable reply, on one line; nothing if all did."""
    named = [*(["queries"] if sought.note else []), *(look.unusable if look else [])]
    roles = [role for role in named if asks_model(config, role)]
    if roles:
        listed = ", ".join(f"{role} ({times} times)" if times > 1 else role for role, times in Counter(roles).items())
        out.print(f"[yellow]Without a usable reply of a model: {listed}.[/yellow]", soft_wrap=True)


def _remark(finding: Finding) -> str:
    about = [f"context {finding.context}"] if finding.context else [finding.passage] if finding.passage else []
    about += [DONE[finding.action]] if finding.action in DONE else []
    return visible(f"{finding.source}: {finding.what}" + (f" ({', '.join(about)})" if about else ""))


def looked(look: AnswerLook) -> None:
    """Print the route of a question, the query of records with the size of its result, all steps, and the condensed context."""
    lines = [f"Route: {look['route']}{f' ({why})' if (why := look['why']) else ''}"]
    if result := look["result"]:
        lines.append(f"Records: {look['query']}: {amount(len(result['rows']) + result['left_out'], 'row')}")
    for number, step in enumerate(look["steps"], 1):
        seen = step["failure"] or step["observed"] or amount(len(step["found"]), "passage")
        lines.append(f"{number}. {step['act']}: {step['given']} → {seen}")
    for kind, items in (look["condensed"] or {}).items():
        sources = ["".join(f"[{number}]" for number in item["sources"]) for item in items]
        rows = zip(items, sources, strict=True)
        lines += [f"{kind.replace('_', ' ')}: {item['text']} {numbers}".rstrip() for item, numbers in rows]
    for line in filter(None, (*lines, look["note"])):
        out.print(f"[dim]{escape(visible(line))}[/dim]", soft_wrap=True)


def sources(answer: Answer) -> None:
    """Print the cited contexts, a line each, with the sections and pages of the cited words."""
    numbers = [number for number in answer.reply.citations if 1 <= number <= len(answer.contexts)]
    if answer.contexts and not numbers:
        out.print("[dim]It cites none of the passages that were read.[/dim]")
    places = places_of(answer)
    for number in numbers:
        cited(number, answer.contexts[number - 1].chunk, places[number - 1])


def cited(number: int, chunk: Chunk, place: CitedPlace) -> None:
    """Print a passage on one line: number, file, section and page, or its chunk_id if its document has no pages."""
    file, gap = (chunk.span.doc_id, " · ") if place.pages else (chunk.chunk_id, "  ")
    where = f"[cyan]{escape(f'[{number}] {file}')}[/cyan]"
    out.print(f"[dim]{where}{f'{gap}{escape(str(place))}' if str(place) else ''}[/dim]", soft_wrap=not out.is_terminal)
