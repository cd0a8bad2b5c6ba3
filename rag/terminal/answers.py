"""What stands around an answer: that it declines, what checks and guards noticed, what it was made from."""

from rag.citations import sections_of
from rag.records import Answer, Finding
from rag.roles import Generator, changes_nothing
from rag.terminal.output import escape, out, visible

DONE = {
    "quarantine": "taken out",
    "remove": "cut out",
    "refuse": "refused",
    "regenerate": "asked again",
    "abstain": "not asked",
}
"""What became of it, by the action that a finding asks for; of a flag nothing."""


def answered(answer: Answer, generator: Generator, heard: bool) -> None:
    """The end of an answer whose pieces were `heard`: a line that says so where there is none, and remarks."""
    if heard:
        out.print()
    if not answer.reply.text.strip():
        out.print(
            f"No answer: {'generator=none gives none' if changes_nothing(generator) else 'nothing in the passages fits'}."
        )
    remarks(answer)


def remarks(answer: Answer) -> None:
    """Whether an answer declines, and every finding in a line."""
    if answer.abstained and answer.reply.text.strip():
        out.print("[yellow]This declines to answer.[/yellow]")
    for finding in answer.findings:
        out.print(f"[yellow]{escape(_said(finding))}[/yellow]", soft_wrap=True)


def _said(finding: Finding) -> str:
    about = [f"context {finding.context}"] if finding.context else [finding.passage] if finding.passage else []
    about += [DONE[finding.action]] if finding.action in DONE else []
    return visible(f"{finding.source}: {finding.what}" + (f" ({', '.join(about)})" if about else ""))


def sources(answer: Answer) -> None:
    """The cited contexts, a line each, with the sections of the words that are cited."""
    cited = [number for number in answer.reply.citations if 1 <= number <= len(answer.contexts)]
    if answer.contexts and not cited:
        out.print("[dim]It cites none of the passages that were read.[/dim]")
    sections = sections_of(answer)
    for number in cited:
        where = f"\\[{number}] {escape(visible(answer.contexts[number - 1].chunk.chunk_id))}"
        section = f"  {escape(visible(sections[number - 1]))}" if sections[number - 1] else ""
        out.print(f"[dim][cyan]{where}[/cyan]{section}[/dim]", soft_wrap=not out.is_terminal)
