"""The table of contents: every verb of `rag`. Heavy imports stay inside the verbs, so that help is instant."""

import io
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from rag.errors import UserError

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Assay: declared experiments for retrieval-augmented generation, every stage run once.",
)
datasets = typer.Typer(no_args_is_help=True, help="Golden sets: check one before trusting what it says.")
stores = typer.Typer(no_args_is_help=True, help="The store: what is in it, whether it is sound, what can go.")
app.add_typer(datasets, name="dataset")
app.add_typer(stores, name="store")

Overrides = Annotated[
    list[str] | None, typer.Argument(help="Hydra overrides, for example chunker=sentence k=10", metavar="KEY=VALUE …")
]
Json = Annotated[bool, typer.Option("--json", help="One JSON object on standard output, nothing else there.")]
Place = Annotated[str, typer.Option("--store", help="Folder or fsspec URL.")]
Track = Annotated[bool, typer.Option(help="Send the trials to MLflow.")]
INTERRUPTED, FAILED, BAD_INPUT = 130, 1, 2


def main() -> None:
    """Run the command line; what a user can fix ends with exit code 2 and without a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # What a terminal cannot show is written as its number: no result is lost over a dash.
            stream.reconfigure(errors="backslashreplace")
    code = _code()
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read our output has gone, as `head` does; writing the rest would only complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


def _code() -> int:
    try:
        # What a verb raises as typer.Exit, and Ctrl-C, come back as a number.
        code = app(standalone_mode=False)
    except UserError as error:
        sys.stderr.write(f"{error}\n")
        return BAD_INPUT
    except (typer.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except Exception as error:
        usage = getattr(error, "show", None)
        if usage is None:
            raise
        usage()
        return BAD_INPUT
    return code if isinstance(code, int) else 0


@app.command()
def plan(experiment: str, overrides: Overrides = None, as_json: Json = False) -> None:
    """Show what a sweep would run and reuse, and what it would take. Nothing is computed."""
    from rag import sweep, terminal
    from rag.experiment import load

    made = sweep.prepare(load(experiment, overrides or ())).plan
    terminal.print_json(made.to_json()) if as_json else terminal.planned(made)


@app.command(name="sweep")
def sweep_command(experiment: str, overrides: Overrides = None, as_json: Json = False, track: Track = True) -> None:
    """Run an experiment: every distinct stage once, what was computed before reused. Ctrl-C and run again goes on."""
    from rag.experiment import load

    _sweep(load(experiment, overrides or ()), as_json, track, ["track", experiment, *(overrides or ())])


@app.command()
def run(
    overrides: Overrides = None,
    multirun: Annotated[bool, typer.Option("-m", "--multirun", help="Every override with several values is an axis.")] = False,
    as_json: Json = False,
    track: Track = True,
) -> None:
    """Run one trial; with -m, one for every combination of values."""
    from rag.errors import ConfigError
    from rag.experiment import ad_hoc

    declared = ad_hoc(overrides or ())
    if declared.axes and not multirun:
        raise ConfigError(", ".join(declared.axes), "has several values", "add -m to run one trial for each")
    _sweep(declared, as_json, track, ["run", *(["-m"] if multirun else []), *(overrides or ())])


def _sweep(declared: Any, as_json: bool, track: bool, again: Sequence[str]) -> None:
    """Run, print, write down and track; `again` is the command that tracks if it cannot be done now."""
    from rag import progress, runs, sweep, terminal

    ready = sweep.prepare(declared)
    ready.store.clear_orphans()
    with progress.SweepProgress(ready.plan) as bar:
        done = sweep.run(ready.plan, ready.store, ready.settings, bar)
    if as_json:
        terminal.print_json(done.to_json())
    else:
        terminal.out.print(done.board.question, markup=False)
        terminal.out.print(terminal.leaderboard(done.board))
        terminal.closing(done, sweep.folder_of(done))
    if done.stopped:
        raise done.stopped
    sweep.write(done)
    if done.interrupted:
        # Workers and models are let go of by the end of the process: nothing is owed to them.
        sys.stdout.flush()
        os._exit(INTERRUPTED)
    if track:
        runs.send(done, ready.store, shlex.join(["rag", *again]))
    if any(row.status == "failed" for row in done.board.rows):
        raise typer.Exit(FAILED)


@app.command()
def search(question: str, overrides: Overrides = None, as_json: Json = False) -> None:
    """Find passages for a question with any config, or with trial=<id> of a sweep, and show where each came from."""
    from rag import terminal
    from rag.answering import asked, config_of, open_config, provenance

    query = asked(question)
    pipeline = open_config(config_of(overrides or ()))
    found = provenance(pipeline, pipeline.trace(query))
    if as_json:
        terminal.print_json({"question": question, "passages": found})
    elif found:
        terminal.passages(found)
    else:
        terminal.out.print("No passage was found.")


@app.command()
def ask(question: str, overrides: Overrides = None, as_json: Json = False) -> None:
    """Answer a question with any config, or with trial=<id> of a sweep, and show the passages it was answered from."""
    from rag import terminal
    from rag.answering import answered, asked, config_of, open_config
    from rag.roles import changes_nothing

    query = asked(question)
    pipeline = open_config(config_of(overrides or ()))
    told = answered(pipeline, query, None if as_json else terminal.stream)
    if as_json:
        terminal.print_json(told)
        return
    if not told["answer"]:
        silent = changes_nothing(pipeline.generator)
        terminal.out.print(f"No answer: {'generator=none gives none' if silent else 'nothing in the passages fits'}.")
    terminal.out.print()
    terminal.passages(told["passages"])


@app.command()
def track(experiment: str, overrides: Overrides = None) -> None:
    """Send the finished trials of a sweep to MLflow, if that did not work when it ran."""
    from rag import runs, sweep, terminal
    from rag.experiment import load

    ready = sweep.prepare(load(experiment, overrides or ()))
    done = runs.recall(ready.plan, ready.store)
    runs.send(done, ready.store, shlex.join(["rag", "track", experiment, *(overrides or ())]))
    count = sum(row.status == "done" for row in done.board.rows)
    terminal.out.print(f"{count} {'trial is' if count == 1 else 'trials are'} in MLflow.")


@app.command()
def trec(experiment: str, folder: Path, overrides: Overrides = None) -> None:
    """Write the rankings of a finished sweep as TREC runs, and its gold as qrels, for trec_eval and its kin."""
    from rag import sweep, terminal
    from rag.exchange import write_trec
    from rag.experiment import load

    ready = sweep.prepare(load(experiment, overrides or ()))
    for path in write_trec(ready.plan, ready.store, folder):
        terminal.out.print(str(path), markup=False, soft_wrap=True)


@app.command()
def ui(port: int = 5000) -> None:
    """Look at the trials in MLflow, on 127.0.0.1."""
    from rag import runs

    # The server takes this process's place, so that Ctrl-C and a service manager reach it.
    os.execv(sys.executable, [sys.executable, *runs.server_command(port)])  # noqa: S606


@datasets.command()
def check(name: str, overrides: Overrides = None, as_json: Json = False) -> None:
    """Validate a golden set; print its counts, its weak spots, and the smallest difference that it can show."""
    from rag import golden, terminal
    from rag.answering import config_of
    from rag.build import Components
    from rag.compose import plugins
    from rag.dataset_check import check_dataset

    config = config_of([f"dataset={name}", *(overrides or ())])
    components = Components(plugins())
    loaded = golden.load(components.role("loader", config["loader"]), components.role("dataset", config["dataset"]))
    found = check_dataset(loaded)
    terminal.print_json(found.to_json()) if as_json else terminal.dataset(name, found)


@stores.command()
def stats(store: Place = ".rag/store", as_json: Json = False) -> None:
    """Count what is in the store."""
    from rag import terminal, upkeep

    found = upkeep.stats(upkeep.existing(store))
    terminal.print_json(found) if as_json else terminal.spaces(found)


@stores.command()
def verify(store: Place = ".rag/store", as_json: Json = False) -> None:
    """Read every entry; remove those that are damaged, so that they are computed again."""
    from rag import terminal, upkeep

    found = upkeep.verify(upkeep.existing(store))
    said = f"{found['entries']} entries read, {len(found['damaged'])} damaged and removed."
    terminal.print_json(found) if as_json else terminal.out.print(said)


@stores.command()
def gc(
    store: Place = ".rag/store",
    days: Annotated[float, typer.Option(min=0, help="Remove stage results that are older than this.")] = 30.0,
    as_json: Json = False,
) -> None:
    """Remove old stage results and what killed processes left; vectors, scores by pair and replies stay."""
    from rag import terminal, upkeep

    found = upkeep.collect(upkeep.existing(store), days)
    said = f"{found['removed']} entries and {found['orphans']} left-overs removed, {found['bytes']:,} bytes."
    terminal.print_json(found) if as_json else terminal.out.print(said)
