"""A conversation in a terminal: questions, streamed answers with their sources, and commands."""

import shlex
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from rag.config.project_memory import FILE, remember, remembered
from rag.core.errors import ConfigError, UserError, closest
from rag.core.figures import amount
from rag.core.roles import changes_nothing
from rag.core.types import REPLIED, Query
from rag.pipeline.conversation.session import Draft, Exchange, Session
from rag.pipeline.prompt.edited_prompt import checked, edited, exchanged
from rag.pipeline.prompt_preview import prompted
from rag.pipeline.search.locked_files import proposed
from rag.reporting.terminal.answers import QUOTED, answered, propose_lock, sources, unusable
from rag.reporting.terminal.line_input import PROMPT, Typed, edit
from rag.reporting.terminal.output import err, escape, out, print_line, print_pairs
from rag.reporting.terminal.passages import explained, read
from rag.reporting.terminal.prompts import prompt
from rag.reporting.terminal.streamed_answer import Waiting
from rag.reporting.terminal.transcript import save

COMMANDS = {
    "/history": "the questions and answers so far, and what the memory keeps of them",
    "/topics": "the documents and their main sections",
    "/sources": "the passages of the last answer; /sources 2 those of the second",
    "/why": "the search texts of the last question, and the provenance of every passage; /why 2 those of the second",
    "/prompt": "show the prompt of a question with its tokens and price, before it is sent: /prompt When does it leave?",
    "/edit": "edit this prompt with $VISUAL or $EDITOR; its answer is marked as not measured",
    "/send": "send this prompt",
    "/lock": "read these files instead of searching, by doc_id or pattern: /lock policies/*; alone it unlocks them",
    "/exclude": "never read these documents, by doc_id or pattern; alone it reads all again",
    "/agents": "the agents that are on; /agents condense off switches one off, and marks its answers as not measured",
    "/remember": f"add a line to the memory of the project, which every later prompt shows; {FILE} holds it",
    "/reset": "forget the questions and answers so far",
    "/save": "write the conversation to a file: /save talk.md or talk.json; /save! replaces a file",
    "/help": "these commands",
    "/quit": "leave, as Ctrl-D does",
}

MAIN = 2
"""The depth of the sections that `/topics` lists: the headings of a document, and those directly below."""


class Chat:
    """One session at one terminal, until standard input ends. `failed` counts questions that a service did not answer."""

    def __init__(self, session: Session, config: Mapping[str, Any], named: str) -> None:
        self.session, self.config, self.named = session, config, named
        self.typed = Typed([*COMMANDS, "/save!"])
        self.failed = 0
        self.limits: dict[str, list[str]] = {"lock": [], "exclude": [], "off": []}
        self.draft: Draft | None = None

    def run(self) -> None:
        """Read and answer until the end of input. Ctrl-C drops the current line or answer; in a pipe it ends the chat."""
        self._greet()
        while True:
            try:
                line = self.typed.read()
                if line is None or line.strip() in ("/quit", "/exit"):
                    break
                self._take(line.strip())
            except KeyboardInterrupt:
                if not self.typed.terminal:
                    raise
                out.print()
        if self.typed.terminal:
            out.print()

    def _greet(self) -> None:
        if not self.typed.terminal:
            return
        out.print(f"[bold]{escape(self.named)}[/bold]  [dim]/help lists the commands, Ctrl-D leaves[/dim]")
        if not getattr(self.session.pipeline.generator, "costly", False):
            out.print(f"[dim]{QUOTED} generator=openai converses.[/dim]", soft_wrap=True)
        if changes_nothing(self.session.pipeline.queries):
            out.print("[dim]Follow-ups are searched for as typed; queries=… can add earlier turns.[/dim]")

    def _take(self, line: str) -> None:
        if not line:
            return
        if not self.typed.terminal:
            out.print(f"[bold]{escape(PROMPT + line)}[/bold]", soft_wrap=True)
        try:
            self._command(line) if line.startswith("/") else self._ask(line)
        except UserError as error:
            self.failed += not line.startswith("/") or line == "/send"
            err.print(f"[red]{escape(str(error))}[/red]", soft_wrap=True)

    def _ask(self, draft: str | Draft) -> None:
        waiting = Waiting("searching …")
        try:
            with self.typed.unseen(), waiting as hear:
                exchange = self.session.ask(draft, hear, lambda passages: hear.reading(passages, listed=True))
        except (KeyboardInterrupt, UserError):
            if waiting.heard:
                out.print()
            out.print("[dim]Dropped: this question and its answer are not remembered.[/dim]")
            raise
        self.draft = None
        self._show(exchange, waiting.heard)

    def _drafted(self) -> Draft:
        if self.draft is None:
            raise ConfigError("chat", "there is no prompt to send", "/prompt QUESTION composes one")
        return self.draft

    def _show(self, exchange: Exchange, heard: str) -> None:
        answered(exchange.answer, self.session.pipeline.generator, heard)
        unusable(self.config, exchange.trace.sought, exchange.answer.look)
        searched = exchange.answer.input not in REPLIED
        if searched and not exchange.answer.abstained:
            sources(exchange.answer)
        elif searched and exchange.answer.contexts:
            out.print("[dim]/sources shows what was found.[/dim]")
        if found := proposed(self.session.pipeline, exchange.question):
            propose_lock([*self.limits["lock"], *found], "/lock")
        out.print()

    def _command(self, line: str) -> None:
        name, _, rest = line.partition(" ")
        if name not in (*COMMANDS, "/save!"):
            what = "is not a command"
            raise ConfigError(name, what, f"{closest(name, COMMANDS)}; a question begins with another character")
        getattr(self, f"_{name.strip('/!')}")(f"! {rest.strip()}" if name.endswith("!") else rest.strip())

    def _prompt(self, question: str) -> None:
        if question:
            with self.typed.unseen(), Waiting("searching …"):
                self.draft = self.session.draft(question)
        draft = self._drafted()
        prompt(prompted(self.session.pipeline, draft.query, draft.trace, draft.edited))
        out.print("[dim]/send sends it, /edit edits it.[/dim]")

    def _edit(self, _: str) -> None:
        draft, pipeline = self._drafted(), self.session.pipeline
        if not getattr(pipeline.generator, "costly", False):
            raise ConfigError("/edit", "no model reads the prompt: sentences are quoted", "choose a model: generator=openai")
        prepared = exchanged(pipeline.prepare(draft.query, draft.trace), draft.edited)
        if not prepared.request or not prepared.asks:
            raise ConfigError("/edit", "no model is asked for this question", "ask another one")
        after = edited(prepared.request.messages, lambda text: edit(text, "prompt.txt"))
        self.draft = draft if after == checked(prepared.request.messages) else replace(draft, edited=after)
        self._prompt("")

    def _send(self, _: str) -> None:
        self._ask(self._drafted())

    def _lock(self, names: str) -> None:
        self._limit("lock", _names(names))

    def _exclude(self, names: str) -> None:
        self._limit("exclude", _names(names))

    def _agents(self, named: str) -> None:
        *names, way = _names(named) or [""]
        if way in ("on", "off"):
            others = [each for each in self.limits["off"] if each not in names]
            self._limit("off", others + names * (way == "off"))
        rows = *(f"{each} on" for each in self.session.pipeline.agents), *(f"{each} off" for each in self.limits["off"])
        out.print(escape("  ".join(rows)) or "no agent can be switched off", soft_wrap=True)

    def _remember(self, line: str) -> None:
        if "{project}" not in str(self.config["prompt"]):
            raise ConfigError(
                "/remember", "this prompt shows no memory of the project", "prompt=layered does, as preset=ragstream"
            )
        text = remembered(line)
        print_line(text or "Nothing is remembered yet: /remember TEXT")
        if line:
            out.print(f"[dim]Write this to {FILE}? y or n[/dim]")
        if line and (self.typed.read() or "").strip() == "y":
            remember(text)
            self.session.tell(text)
            self.session.limit(**self.limits)
            self.draft = None

    def _reset(self, _: str) -> None:
        self.session.reset()
        self.draft = None
        out.print("[dim]Forgotten.[/dim]")

    def _help(self, _: str) -> None:
        print_pairs((f"[bold]{command}[/bold]", escape(does)) for command, does in COMMANDS.items())
        out.print("[dim]Ctrl-C drops the unfinished answer. Every other line is a question.[/dim]")

    def _limit(self, kind: str, names: list[str]) -> None:
        limits = {**self.limits, kind: names}
        self.session.limit(**limits)
        self.limits, self.draft = limits, None
        said = "; ".join(f"{each}: {', '.join(known)}" for each, known in limits.items() if known)
        out.print(f"[dim]{escape(said or 'All documents are searched, with all agents.')}[/dim]", soft_wrap=True)

    def _exchange(self, which: str) -> Exchange:
        """The exchange with a number, counted from 1; the last one without a number."""
        known = self.session.exchanges
        if not known:
            raise ConfigError("chat", "nothing was answered yet", "ask a question first")
        if not which:
            return known[-1]
        if not which.isdecimal() or not 1 <= int(which) <= len(known):
            raise ConfigError("chat", f"there is no question {which!r}", f"a number from 1 to {len(known)}")
        return known[int(which) - 1]

    def _history(self, _: str) -> None:
        if not self.session.exchanges:
            out.print("[dim]No question was asked yet.[/dim]")
        for number, exchange in enumerate(self.session.exchanges, 1):
            out.print(f"[bold]{number}  {escape(exchange.question)}[/bold]", soft_wrap=not out.is_terminal)
            answer = escape(exchange.answer.reply.text.strip()) or "[dim]no answer[/dim]"
            out.print(f"   {answer}", soft_wrap=not out.is_terminal)
            out.print(f"   [dim]{escape(exchange.about)}[/dim]", soft_wrap=not out.is_terminal)
        if history := self.session.history:
            (kept,) = self.session.pipeline.reading.memory.recall([Query("history", "", history)])
            said = f"The memory keeps {len(kept.turns)} of {amount(len(history), 'message')} word for word."
            print_line(f"{said} Summary of the others:\n{kept.summary}" if kept.summary else said)

    def _topics(self, _: str) -> None:
        corpus, excluded = self.session.pipeline.corpus, self.session.pipeline.excluded
        for document, sections in zip(corpus.documents, corpus.sections, strict=True):
            if document.doc_id not in excluded:
                heads = (section.path.rpartition(" > ")[2] for section in sections if 0 < section.depth <= MAIN)
                listed = escape(" · ".join(dict.fromkeys(heads)))
                out.print(f"[cyan]{escape(document.doc_id)}[/cyan]  {listed}", soft_wrap=not out.is_terminal)

    def _sources(self, which: str) -> None:
        read(self._exchange(which).answer)

    def _why(self, which: str) -> None:
        explained(self.session.pipeline, self._exchange(which))

    def _save(self, name: str) -> None:
        self._exchange("")
        path = Path(" ".join(_names(name.removeprefix("! "))) or f"chat-{datetime.now():%Y%m%d-%H%M%S}.md").expanduser()
        save(self.session, self.config, path, name.startswith("! "))
        out.print(f"[dim]{len(self.session.exchanges)} questions and answers: {escape(str(path))}[/dim]", soft_wrap=True)


def _names(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()
