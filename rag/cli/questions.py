"""Verbs about questions: search, ask, chat, write, why, and the messages of a prompt."""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rag.cli.app import app, study, verb
from rag.cli.options import FAILED, Json, Overrides, Where, print_json, print_line

if TYPE_CHECKING:
    from rag.analysis.why import ReopenedTrial

prompts = typer.Typer(no_args_is_help=True, help="Prompts: the exact messages that a model gets.")
app.add_typer(prompts, name="prompt", hidden=True)
FOLLOW_UPS = "queries=carry_over"
"""The default of a conversation, in which questions depend on earlier ones; elsewhere the default is what sweeps measure."""


@app.command(hidden=True)
def search(question: str, overrides: Overrides = None, where: Where = None, as_json: Json = False) -> None:
    """Find passages for a question with any config, or with trial=<id> of a sweep, and show their provenance."""
    from rag.execution.sweep.open_config import config_of, open_config, required_question
    from rag.pipeline.search.search_filter import narrowed, where_scope
    from rag.pipeline.shapes.answer_json import found_passages
    from rag.reporting.terminal.passages import passages

    query, scope = required_question(question), where_scope(where or ())
    pipeline = narrowed(open_config(config_of(overrides or ())), scope)
    found = found_passages(pipeline.corpus, pipeline.trace(query), pipeline.k)
    if as_json:
        print_json({"question": question, "passages": found})
    elif found:
        passages(found)
    else:
        print_line("No passage was found.")


@app.command()
def ask(
    question: Annotated[str, typer.Argument(help="Left out with --chat and --report.", show_default=False)] = "",
    overrides: Overrides = None,
    where: Where = None,
    converses: Annotated[bool, typer.Option("--chat", help="Converse: streamed answers; /help lists commands.")] = False,
    searches: Annotated[bool, typer.Option("--passages", help="Find passages, and ask no generator.")] = False,
    template: Annotated[
        Path | None, typer.Option("--report", metavar="TEMPLATE", help="Write a report: see rag data schema template.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="The file of the report: FILE.md, .html or .docx.")] = None,
    as_json: Json = False,
) -> None:
    """Answer a question with any config, with trial=<id> of a sweep, or about a FOLDER, and show the passages of the answer.

    A trial without a generator gets the default one; generator=…, prompt=…, k=… next to trial=<id> replace its own.

    With --json, one object: the answer as POST /ask returns it, with its trace; not_as_measured says what differs from the
    trial, empty for nothing; proposed_lock names the files whose names are in the question.
    """
    from rag.core.errors import ConfigError

    if converses + searches + bool(template) > 1:
        raise ConfigError("rag ask", "takes one of --chat, --passages and --report", "leave the others out")
    if where and (converses or template):
        raise ConfigError("--where", "narrows a single question", "leave it out, or ask one question")
    with _of_folder([*([question] if question and (converses or template) else []), *(overrides or ())]) as chosen:
        if converses:
            chat(chosen)
        elif template:
            write(template, chosen, out, as_json)
        elif searches:
            search(question, chosen, where, as_json)
        else:
            _answer(question, chosen, where or (), as_json)


@contextmanager
def _of_folder(overrides: Sequence[str]) -> Iterator[list[str]]:
    """Overrides, the first of which may be a folder of documents instead; in the block that is read no second time."""
    if not overrides or (not os.path.isdir(overrides[0]) and ("=" in overrides[0] or "/" not in overrides[0])):
        yield [*overrides]
        return
    from rag.api.first_sweep import FirstSweep

    first = FirstSweep(overrides[0], tuple(overrides[1:]), is_asked=True)
    with first.held():
        yield first.chosen()


def _answer(question: str, overrides: Sequence[str], where: Sequence[str], as_json: bool) -> None:
    from rag.execution.sweep.open_config import config_to_answer, open_config, required_question
    from rag.pipeline.search.locked_files import proposed
    from rag.pipeline.search.search_filter import narrowed, where_scope
    from rag.pipeline.shapes.answer_json import found_passages
    from rag.pipeline.shapes.passage_fates import traced_answer
    from rag.reporting.terminal.answers import QUOTED, answered, looked, print_difference, propose_lock, unusable
    from rag.reporting.terminal.passages import passages, passages_of_answer
    from rag.reporting.terminal.streamed_answer import Waiting

    query, scope = required_question(question), where_scope(where)
    config, differs = config_to_answer(overrides)
    if differs and not as_json:
        print_difference(differs)
    with Waiting("opening …") as hear:
        pipeline = narrowed(open_config(config), scope)
        hear.now("searching …")
        trace = pipeline.trace_to_answer(query)
        answer = pipeline.answer_from(query, trace, None if as_json else hear, early=True, read=hear.reading)
    record = traced_answer(pipeline, trace, answer)
    if as_json:
        print_json({**record, "not_as_measured": differs, "proposed_lock": proposed(pipeline, question)})
        return
    answered(answer, pipeline.generator, hear.heard)
    propose_lock(proposed(pipeline, question))
    unusable(config, trace.sought, answer.look)
    if answer.reply.citations and not getattr(pipeline.generator, "costly", False):
        print_difference(QUOTED)
    if "look" in record:
        looked(record["look"])
    print_line("")
    passages(passages_of_answer(found_passages(pipeline.corpus, trace, pipeline.k), record))


@app.command(hidden=True)
def chat(overrides: Overrides = None) -> None:
    """Converse with any config, or with trial=<id> of a sweep: streamed answers with their sources; /help lists commands.

    The default for follow-ups is queries=carry_over, or that of the trial or preset. A trial without a generator gets the
    default one; generator=…, prompt=…, queries=… next to trial=<id> replace its own. Ctrl-C drops the answer in progress,
    Ctrl-D leaves. Questions can also come through a pipe, one a line.
    """
    from rag.execution.sweep.open_config import config_to_answer, open_config
    from rag.pipeline.conversation.session import Session
    from rag.reporting.terminal.answers import print_difference
    from rag.reporting.terminal.chat import Chat
    from rag.reporting.terminal.streamed_answer import Waiting

    config, differs = config_to_answer(_with_follow_ups(overrides or ()))
    if differs:
        print_difference(differs)
    with Waiting("opening …"):
        session = Session(open_config(config))
        session.make_ready()
    talk = Chat(session, config, " ".join(overrides or ()) or "the default config")
    talk.run()
    if talk.failed and not talk.typed.terminal:
        raise typer.Exit(FAILED)


def _with_follow_ups(overrides: Sequence[str]) -> list[str]:
    keys = {override.lstrip("+").partition("=")[0] for override in overrides if override != "preset=none"}
    chosen = keys & {"queries", "trial", "preset"}
    return [*overrides] if chosen else [FOLLOW_UPS, *overrides]


@app.command(hidden=True)
def write(
    template: Annotated[Path, typer.Argument(help="A .json or .yaml file; rag data schema template prints what it holds.")],
    overrides: Overrides = None,
    out: Annotated[Path | None, typer.Option(help="FILE.md, .html or .docx; default: Markdown on standard output.")] = None,
    as_json: Json = False,
) -> None:
    """Write a report from a template with any config, or with trial=<id> of a sweep: section by section, with citations.

    Without a model sentences are quoted. What the guidance of a section asks for and the section does not state is searched for
    once more, and listed if it stays missing. Replies of models are stored within the budget, for example budget.usd=1: after
    Ctrl-C the same command goes on. A file is written at the end, or not at all.

    --json: title; sections: number, heading, lines (texts and numbers of sources), insufficient, gaps, findings; sources:
    number, doc_id, start, end, section, page, quote; tokens, cost (null if unknown), seconds.
    """
    from rag.api.writing import write_report
    from rag.core.numbers import jsonable
    from rag.reporting.report_files import markdown, summary
    from rag.reporting.terminal.output import err, stream
    from rag.reporting.terminal.streamed_answer import Waiting

    with Waiting("opening …") as shown:
        report = write_report(template, *(overrides or ()), out=out, hear=shown.now)
    if as_json:
        print_json(jsonable(asdict(report)))
    elif out is None:
        stream(markdown(report))
    print_line(f"{out or 'report'}: {summary(report)}, seconds: {report.seconds:.1f}", err)


@verb(study)
def why(
    question: Annotated[str, typer.Argument(help="Its id or its words; trial=ID alone: all it lost.", metavar="QUESTION")],
    overrides: Overrides = None,
    as_json: Json = False,
) -> None:
    """Show which stage lost a golden question, with any config, with trial=<id> of a sweep, or with two side by side."""
    from rag.analysis import why as whys
    from rag.reporting.terminal.lost_questions import losses
    from rag.reporting.terminal.why import why as show_why

    everything = bool(re.match(r"[+~]{0,2}[\w./@]+=", question))
    trials = whys.prepare([question, *(overrides or ())] if everything else overrides or ())
    example = None if everything else whys.find(question, trials[0])
    run_missing(trials)
    found = whys.explain(example, trials) if example else whys.overview(trials)
    if as_json:
        print_json(found.to_json())
    elif isinstance(found, whys.Why):
        show_why(found)
    else:
        losses(found)


def run_missing(trials: "Sequence[ReopenedTrial]") -> None:
    """Run the stages of trials that are not in the store."""
    from rag.reporting.terminal.progress import SweepProgress

    for trial in trials:
        if trial.made.to_run:
            with SweepProgress(trial.made) as bar:
                trial.run(bar)


@study.command("prompt")
@prompts.command()
def show(question: str, overrides: Overrides = None, as_json: Json = False) -> None:
    """Print the exact messages of a question, their tokens, and the passages in them and left out; no model is asked.

    Takes any config, or trial=<id> of a sweep; prompt=…, guard=…, k=… next to it replace its own.

    With --json, one object; not_as_measured says what differs from the trial, empty for nothing.
    """
    from rag.execution.sweep.open_config import config_to_answer, open_config, required_question
    from rag.pipeline.prompt_preview import prompted
    from rag.reporting.terminal.answers import print_difference
    from rag.reporting.terminal.prompts import prompt as print_prompt

    config, differs = config_to_answer(overrides or (), generates=False)
    preview = prompted(open_config(config), required_question(question))
    if as_json:
        print_json(preview | {"not_as_measured": differs})
        return
    if differs:
        print_difference(differs)
    print_prompt(preview)
