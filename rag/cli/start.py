"""The verbs for a first experiment about documents of one's own."""

import shlex
import warnings
from contextlib import nullcontext
from typing import Annotated

import typer

from rag.cli.app import app
from rag.cli.options import Json, Track, print_json


@app.command(hidden=True)
def init(
    name: Annotated[str, typer.Argument(metavar="[NAME]", help="Of the new experiment.")] = "mine",
    documents: Annotated[str | None, typer.Option(metavar="FOLDER", help="Your documents.")] = None,
    questions: Annotated[str | None, typer.Option(help="A file of questions with evidence, or generate.")] = None,
    model: Annotated[str | None, typer.Option(help="Who answers: a choice of generator, such as openai; none: quotes.")] = None,
    as_json: Json = False,
) -> None:
    """Ask three questions and write experiments/NAME.yaml, eight lines to sweep; options answer them beforehand.

    Questions are a questions.jsonl, a table or a file of another tool that rag data import reads, or made from the documents
    by rules. They and imported documents go to datasets/NAME. Nothing is overwritten.

    --json: experiment, path, questions (their file).
    """
    from rag.api.start import check_start, start
    from rag.core.errors import ConfigError
    from rag.reporting.terminal.line_input import Typed
    from rag.reporting.terminal.output import next_commands, print_line

    typed = Typed()

    def answer(option: str, given: str | None, asked: str, usual: str) -> str:
        if given is not None:
            return given
        if not typed.terminal:
            raise ConfigError(f"--{option}", "is not given, and there is no terminal to ask at", f"--{option} {usual}")
        print_line(f"{asked} [{usual}]")
        return (typed.read() or "").strip() or usual

    folder = answer("documents", documents, "Which folder has your documents?", "documents")
    check_start(name, folder)
    asked = answer("questions", questions, "A file of questions with evidence, or generate to make some?", "generate")
    generator = answer("model", model, "Which model answers? Its provider, such as openai or ollama, or none.", "none")
    path, rows = start(name, folder, asked, generator)
    if as_json:
        print_json({"experiment": name, "path": str(path), "questions": str(rows)})
        return
    print_line(f"Written: {path}; its questions: {rows}.")
    next_commands([f"rag plan {name}", f"rag sweep {name}"])


@app.command("try")
def try_folder(
    what: Annotated[
        list[str] | None, typer.Argument(help="Your documents; without them the handbook.", metavar="[FOLDER] [KEY=VALUE …]")
    ] = None,
    questions: Annotated[int, typer.Option(min=1, max=1000, help="The most questions that are made.")] = 60,
    track: Track = True,
) -> None:
    """Sweep a folder of documents: read it, make questions by rules, compare a few settings, draw the report.

    The experiment and its questions are files to edit: experiments/NAME.yaml and datasets/NAME, NAME is that of the folder.
    After Ctrl-C, and after changes, the same command goes on.
    """
    from rag.api.first_sweep import FirstSweep, handbook
    from rag.cli.sweeps import conducted, leave
    from rag.config.compose import written
    from rag.config.experiment import load
    from rag.documents.folder.file_tree import SkippedWarning
    from rag.reporting import html
    from rag.reporting.terminal import generation
    from rag.reporting.terminal.output import next_commands, print_line

    overrides = (what or ())[1:]
    if what:
        first = FirstSweep(what[0], tuple(overrides))
        name = first.name
        if large := first.too_large():
            print_line(large)
        generation.read(first.folder, languages=first.languages, lines=first.loader.manifest)
        warnings.simplefilter("ignore", SkippedWarning)  # the lines above say the same
        if moved := first.set_aside():
            print_line(moved)
        generation.asked(first.rows, *first.ask(questions))
        for sentence in first.declare():
            print_line(sentence)
    else:
        name = "quickstart"
        generation.asked(*handbook(), kept=True)
    again = ["study", "track", name, *overrides]
    with first.held() if what else nullcontext():
        done = conducted(load(name, overrides), False, track, again, None)
        print_line(f"The report: {html.write(done.sweep.plan, done.store).page}")
    trial = f"trial={done.recommended}" if done.recommended else "k=5"
    review = f"rag data review native dataset.path=datasets/{name} {written('loader.path', (what or [''])[0])}"
    next_commands(
        [f'rag ask "…" {trial}', review if what else "rag try FOLDER", shlex.join(["rag", "sweep", name, *overrides])]
    )
    leave(done)
